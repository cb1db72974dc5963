"""SQLite: jobs in one file, for any number of processes on one machine."""

from noria.backends.sqlite.backend import SqliteBackend

__all__ = ["SqliteBackend"]
