"""What jobs remember when they are run again."""

from __future__ import annotations

from collections.abc import Sequence

from noria.backends.contract import Change
from noria.backends.lives import parts_of, remembered
from noria.backends.sql.records import read_records
from noria.backends.sql.rows import Altering, encode, to_id
from noria.backends.sql.transaction import Transaction
from noria.model.past import write_past


def remember(work: Transaction, rows: Sequence[Altering], change: Change) -> None:
    """Note how jobs had ended that are about to be queued again, and the arguments that they are about to lose."""
    records = read_records(work, [to_id(row.id) for row in rows], parts_of(change))
    lives = [
        (record.id.hex(), write_past(remembered(record, change, work.now)).decode()) for record in records
    ]
    work.run("alter_past", encode(lives))
