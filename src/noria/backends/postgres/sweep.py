"""Sweeping in PostgreSQL: as everywhere, and the changes of counts are folded into their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from noria.backends.contract import Swept
from noria.backends.sql import sweep
from noria.backends.sql.transaction import Transaction

FEW: Final = 500
"""Changes that may be left: whoever reads a count adds them up in less than a tenth of a millisecond."""
_MOST: Final = 20_000


@dataclass(slots=True)
class Sweep(sweep.Sweep):
    """The call."""

    def idle(self, work: Transaction) -> Swept | None:
        """The answer, if there is nothing to move and little to fold."""
        if work.row("sweep_changes", FEW)[0]:
            return None
        return sweep.Sweep.idle(self, work)

    def run(self, work: Transaction) -> Swept:
        """Fold, then move what time has moved."""
        work.run("fold_counts", _MOST)
        work.run("fold_flow", _MOST)
        return sweep.Sweep.run(self, work)
