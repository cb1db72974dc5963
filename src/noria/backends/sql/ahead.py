"""The place of a job in its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noria.backends.sql.call import Call
from noria.backends.sql.transaction import Transaction
from noria.ids import Id


@dataclass(slots=True)
class Ahead(Call):
    """The call."""

    id: Id
    most: int
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> int | None:
        """How many jobs stand before it, counted to `most`; None if it is not queued."""
        found: int | None = work.row("ahead", self.id, max(1, self.most))[0]
        return found
