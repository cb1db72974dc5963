"""Dead letters by what is probably one fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from noria import ids
from noria.cli.escape import cut, one_line
from noria.cli.output import Output
from noria.cli.quantities import age, count
from noria.clock import moment
from noria.front.resources import summary
from noria.ids import Id
from noria.model.fingerprint import fingerprint
from noria.model.job import Record
from noria.model.outcome import Failure

_NO_FAILURE: Final = Failure("exception", "no reason is recorded")


@dataclass(slots=True)
class Kin:
    """Dead letters that are probably one fault."""

    fingerprint: str
    task: str
    error: str
    sample: Id
    first: float
    last: float
    count: int = 0

    def add(self, record: Record) -> None:
        """One more."""
        at = record.finished or record.created
        self.count += 1
        self.first, self.last = min(self.first, at), max(self.last, at)


def grouped(records: Sequence[Record]) -> list[Kin]:
    """Dead letters by what is probably one fault; the most frequent first."""
    groups: dict[str, Kin] = {}
    for record in records:
        failure = record.failure or _NO_FAILURE
        mark, at = fingerprint(record.task, failure), record.finished or record.created
        found = groups.setdefault(mark, Kin(mark, record.task, summary(failure), record.id, at, at))
        found.add(record)
    return sorted(groups.values(), key=lambda kin: (-kin.count, kin.task, kin.fingerprint))


def show(out: Output, kin: Sequence[Kin], limit: int, now: float) -> None:
    """Print groups of dead letters."""
    if out.json:
        for each in kin[:limit]:
            out.record(_resource(each))
    elif kin:
        out.table((">count", "first", "last", "task", "error"), [_row(each, now) for each in kin[:limit]])
    total = sum(each.count for each in kin)
    out.note(f"{count(total, 'dead letter')} in {count(len(kin), 'group')}" if kin else "no dead letters")


def _row(kin: Kin, now: float) -> tuple[str, ...]:
    spans = age(kin.first, now), age(kin.last, now)
    return (f"{kin.count:,}", *spans, one_line(kin.task), cut(kin.error, 60))


def _resource(kin: Kin) -> dict[str, Any]:
    return {
        "fingerprint": kin.fingerprint,
        "task": kin.task,
        "count": kin.count,
        "error": kin.error,
        "first_at": moment(kin.first),
        "last_at": moment(kin.last),
        "sample_id": ids.to_text(kin.sample),
    }
