"""What Noria is compared with: one module each, with its tasks, its client and, where it needs one, its worker."""
