"""Finished jobs, as `noria up` streams them and `noria worker` logs them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from noria import ids
from noria.cli.escape import cut, one_line
from noria.cli.jobview import short
from noria.cli.quantities import duration
from noria.clock import moment
from noria.front.resources import failure_resource, summary
from noria.model.settlement import Settlement
from noria.worker.held import Run


def told(run: Run, end: Settlement, now: float) -> str:
    """One line: time, id, state, duration, attempt, task; the error if there was one."""
    at = datetime.fromtimestamp(now).astimezone().strftime("%H:%M:%S")
    took = duration(max(now - end.began, 0)) if end.began else "–"
    tally = run.lease.tally
    attempt = f"{min(tally.spent + 1, tally.attempts)}/{tally.attempts}"
    why = f"  {cut(summary(end.failure), 60)}" if end.failure is not None else ""
    return (
        f"{at}  {short(end.id)}  {end.state.word:<9} {took:>8}  {attempt:>5}  {one_line(run.lease.task)}{why}"
    )


def resource(run: Run, end: Settlement, now: float) -> dict[str, Any]:
    """The same for programs."""
    attempt = run.lease.tally.spent + 1
    return {
        "id": ids.to_text(end.id),
        "task": run.lease.task,
        "queue": run.lease.queue,
        "state": end.state.word,
        "outcome": end.outcome.word,
        "attempt": attempt,
        "started_at": moment(end.began or None),
        "ended_at": moment(now),
        "seconds": max(now - end.began, 0.0) if end.began else None,
        "error": failure_resource(end.failure, run.lease.task, attempt),
    }
