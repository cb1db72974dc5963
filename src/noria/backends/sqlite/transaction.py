"""A transaction on a SQLite connection."""

from __future__ import annotations

from typing import Any

import apsw

from noria.backends.sql import blobs, transaction
from noria.backends.sql.drafts import Drafts
from noria.backends.sql.holders import conclude
from noria.backends.sql.settings import Settings
from noria.backends.sql.taken import decide
from noria.backends.sqlite.patterns import Patterns
from noria.backends.sqlite.statements import statement


class Transaction(transaction.Transaction):
    """See `noria.backends.sql.transaction.Transaction`."""

    patterns = Patterns()

    def __init__(self, connection: apsw.Connection, settings: Settings, now: int) -> None:
        super().__init__(settings, now)
        self._connection = connection

    def row_or_none(self, name: str, *values: Any) -> tuple[Any, ...] | None:
        return self._connection.execute(statement(name), values).fetchone()

    def run(self, name: str, *values: Any) -> None:
        self._connection.execute(statement(name), values)

    def changes(self, name: str, *values: Any) -> int:
        self._connection.execute(statement(name), values)
        return self._connection.changes()

    def insert(self, drafts: Drafts) -> None:
        """Nearly always every id and key is new, so the insert is tried first.

        Only if it fails, as a whole and leaving no trace, are the taken ids and keys looked up and the rest inserted.
        """
        drafts.make_way()
        if drafts.large:
            drafts.give_keys(blobs.keys(self))
        push = "push_bound" if drafts.bound else "push"
        try:
            self.run(push, drafts.as_json(), self.now)
        except apsw.ConstraintError:
            decide(self, drafts)
            drafts.make_way()
            if drafts.large:
                # What stood back may have taken keys, and given bodies to others.
                drafts.give_keys(blobs.keys(self))
            self.run(push, drafts.as_json(), self.now)
        blobs.store(self, drafts.bodies())
        conclude(self, drafts)
