"""What can be set about a PostgreSQL backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from noria.backends.sql import settings

NAMESPACE: Final = "noria"
"""The schema that a URL means which names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(settings.Settings):
    """One store, as it was configured; see also `noria.backends.sql.settings.Settings`.

    Attributes:
        conninfo: what libpq is told to connect; it may hold a password.
        shown: the server and database, as messages may name them.
        namespace: the schema of this application's tables.
        wall: the time, in place of the server's; for tests.
    """

    groups: ClassVar[bool] = True

    conninfo: str = field(repr=False)
    shown: str
    namespace: str = NAMESPACE
    wall: Callable[[], float] | None = None

    @property
    def store(self) -> str:
        return f"PostgreSQL {self.shown}, namespace {self.namespace}"
