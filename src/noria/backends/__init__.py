"""The contract of a backend, and one folder for each backend."""
