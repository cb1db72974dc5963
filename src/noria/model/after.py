"""Jobs that wait for others: what becomes of one when those have ended, in words and decisions, without I/O."""

from __future__ import annotations

from noria.ids import of_hex
from noria.model.state import State


def not_there(parent: str) -> str:
    """Why a job cannot wait for this one, whose id is given as hex."""
    return (
        f"it waits for job {of_hex(parent)}, which is not there: erased, pruned, or never enqueued before it"
    )


def refused(on: str | None, bad: tuple[str, int] | None, pending: int, *, spoiled: bool) -> str | None:
    """Why a job will not run, if that is certain now; else None.

    Args:
        on: how those that it waits for must end: see `Extras.on`; None is "success".
        bad: of those that have ended now, the first that did not succeed: its id as hex, and its state.
        pending: how many have not ended.
        spoiled: whether any of those that have ended did not succeed.
    """
    if on == "failure":
        return (
            None if pending or spoiled else "it was to follow a failure, and all that it waited for succeeded"
        )
    if on == "complete" or bad is None:
        return None
    return f"it waited for job {of_hex(bad[0])}, which ended as {State(bad[1]).word}"
