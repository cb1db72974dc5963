"""What users of Noria hold: the application, its tasks, and the jobs that they make."""
