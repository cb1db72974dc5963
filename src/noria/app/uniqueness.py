"""What unique keys ask of tasks, and the error that they may be."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from noria import ids
from noria.app.options import nearest
from noria.errors import DuplicateJob, InvalidOption
from noria.ids import Id
from noria.model.job import NewJob
from noria.model.unique import Unique


def check_arguments(task: str, unique: Any, fields: Collection[str]) -> Unique | None:
    """See that a task has the arguments of which a key is made, and to which items are appended.

    Args:
        unique: what was given as `unique`.
        fields: the names of the task's arguments.

    Returns:
        it, if it is a `Unique`.

    Raises:
        InvalidOption: there is no such argument.
    """
    if not isinstance(unique, Unique):
        return None
    for name in sorted(unique.names - set(fields)):
        raise InvalidOption(
            f"task {task!r} has no argument {name!r:.60}; {nearest(name, fields)}", field="unique"
        )
    return unique


def check_key_known(task: str, unique: Unique | None, feed: str) -> None:
    """See that a unique job asks for nothing for which its arguments are needed, which come only when it starts.

    Args:
        unique: how it is unique; feed: the argument that it is given then.

    Raises:
        InvalidOption: its key is made of them, or they are to go to the job that has its key.
    """
    if unique is None or not (unique.by or unique.on_conflict in ("keep_last", "merge")):
        return
    what = (
        f"is made of {', '.join(unique.paths)}" if unique.by else "gives its arguments to the job that has it"
    )
    raise InvalidOption(
        f"the unique key of task {task!r} {what}, and {feed!r} is the value of the job before it, which is not known "
        "before it starts: say options(unique=...) with a key that is known, or unique=None",
        field="unique",
    )


def duplicate(job: NewJob, holder: Id) -> DuplicateJob:
    """The error for a job whose unique key another one has."""
    text = ids.to_text(holder)
    return DuplicateJob(f"job {text} of task {job.task!r} has the unique key {job.unique!r:.60}", job_id=text)
