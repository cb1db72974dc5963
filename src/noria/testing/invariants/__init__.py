"""What must hold of every history, one subject a file. `checker` runs them all in one pass."""
