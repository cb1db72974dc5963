"""PostgreSQL: jobs in one schema of a database, for any number of processes on any number of machines."""

from noria.backends.postgres.backend import PostgresBackend

__all__ = ["PostgresBackend"]
