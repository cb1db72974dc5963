"""Workflows: jobs that follow one another, and jobs that follow several; described first, then enqueued as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Literal, TypeVar

from msgspec.structs import replace

from noria.app import checks
from noria.app.job import Draft, Job
from noria.app.sync import enqueue_many
from noria.app.task import Enqueuer
from noria.errors import InvalidInput, shown

R = TypeVar("R")

On = Literal["success", "complete", "failure"]


class Workflow(Generic[R]):
    """Jobs that wait for one another, described and not enqueued yet. Enqueueing it again is safe: they are the same.

    Attributes:
        drafts: its jobs, each behind those that it waits for.
        last: the one that ends last, and whose value is that of the workflow.
    """

    __slots__ = ("drafts", "last")

    def __init__(self, drafts: Sequence[Draft[Any]], last: Draft[R]) -> None:
        self.drafts = tuple(drafts)
        self.last = last

    @property
    def id(self) -> str:
        """The id of its last job, a UUID as text."""
        return self.last.id

    async def enqueue(self) -> Job[R]:
        """Enqueue all of it, in pushes of at most 1,000 jobs; returns its last job.

        Raises:
            NotRunning, Unavailable, Unknown, InvalidInput: as `app.enqueue_many`.
        """
        return (await enqueue_many(self.last.links, list(self.drafts)))[-1]

    def __repr__(self) -> str:
        return f"<Workflow of {len(self.drafts)}, last {self.last.new.task} {self.id}>"


First = Draft[Any] | Workflow[Any]
Step = Draft[Any] | Enqueuer[..., Any]


def chain(first: First, *steps: Step) -> Workflow[Any]:
    """Jobs of which each begins when the one before it has succeeded.

    If one does not succeed, those behind it are cancelled.

    Args:
        first: `task.job(...)`, or a workflow.
        steps: tasks, or `task.options(...)`, whose jobs get the value of the one before as their first argument; or
            `task.job(...)`, whose arguments stand.

    Raises:
        InvalidInput: something is neither.
        InvalidOption: a task takes no first argument, or needs others besides; or its group or unique key is made of
            arguments, which come only when it starts; or the value of the job before it is erased at once (`keep=0`).
    """
    drafts = list(_opened(first))
    for step in steps:
        drafts.append(_following(step, drafts[-1:], "success", many=False))
    return Workflow(drafts, drafts[-1])


def gather(jobs: Iterable[First], then: Draft[R] | Enqueuer[..., R], *, on: On = "success") -> Workflow[R]:
    """Jobs that run side by side, and one that follows when all of them have ended.

    Args:
        jobs: `task.job(...)`, or workflows; at least one, and at most 1,000.
        then: a task, or `task.options(...)`, whose job gets the list of their values, in order, as its first argument;
            or `task.job(...)`, whose arguments stand.
        on: how they must end for it to run: "success": all succeeded; "complete": however, and the value of one that
            did not succeed is None; "failure": at least one did not. Otherwise it is cancelled.

    Raises:
        InvalidInput, InvalidOption: as `chain`; or there are no jobs.
    """
    branches = [
        _opened(each)
        for each in checks.several("jobs", jobs, "drafts, made with task.job(...), or workflows")
    ]
    if not branches:
        raise InvalidInput("gather needs at least one job", field="jobs")
    last = _following(then, [branch[-1] for branch in branches], checks.on("on", on), many=True)
    drafts = {draft.id: draft for branch in branches for draft in branch}
    return Workflow([*drafts.values(), last], last)


def _opened(first: object) -> tuple[Draft[Any], ...]:
    if isinstance(first, Workflow):
        return first.drafts
    if isinstance(first, Draft):
        return (first,)
    raise InvalidInput(
        f"{shown(first)} is neither a draft nor a workflow; write task.job(...), with its arguments",
        field="jobs",
    )


def _following(step: object, before: Sequence[Draft[Any]], on: str, *, many: bool) -> Draft[Any]:
    """The draft of a step, waiting for those before it; no later than they have to end, if all of them have to."""
    after = checks.after("after", list(before))
    if isinstance(step, Enqueuer):
        for draft in before:
            checks.kept(draft.new.task, draft.new.keep)
        draft = step.follow(after, many=many)
    elif isinstance(step, Draft):
        draft = step
    else:
        raise InvalidInput(f"{shown(step)} is no step: give a task, or task.job(...)", field="steps")
    extras = draft.new.extras
    if not extras.feed:
        after = tuple(dict.fromkeys((*extras.after, *after)))
    new = replace(draft.new, extras=replace(extras, after=after, on=on))
    bound = [draft, *(before if on == "success" else ())]
    ends = [each.new.deadline for each in bound if each.new.deadline is not None]
    return replace(draft, new=replace(new, deadline=min(ends, default=None)))
