"""I10: one live job for each unique key of a task, and every producer of the key is told of it."""

from __future__ import annotations

from noria.model.claim import NEW
from noria.testing.events import AlterEnd, Event, PushEnd, PushInvoke
from noria.testing.facts import Handler, Job
from noria.testing.inquiry import Inquiry, Invariant

Key = tuple[str, str]


class Unique(Invariant):
    """I10."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._holders: dict[Key, list[Job]] = {}
        self._asked: dict[tuple[str, str], float] = {}

    def handlers(self) -> dict[type, Handler]:
        return {PushInvoke: self._invoke, PushEnd: self._pushed, AlterEnd: self._altered}

    def _invoke(self, event: Event, fact: PushInvoke) -> None:
        if fact.unique is not None:
            self._asked[event.proc, fact.id] = event.mono

    def _pushed(self, event: Event, fact: PushEnd) -> None:
        asked = self._asked.pop((event.proc, fact.id), None)
        if asked is None or fact.end != "ok":
            return
        job = self._known.job(fact.id)
        if fact.status in NEW:
            self._takes(event, job)
        elif fact.status == "existing" and fact.stands != fact.id:
            self._stands(event, job, self._known.job(fact.stands), asked)

    def _altered(self, event: Event, fact: AlterEnd) -> None:
        job = self._known.job(fact.id)
        if fact.change == "retry" and fact.status == "done" and _key(job):
            self._takes(event, job)

    def _takes(self, event: Event, job: Job) -> None:
        """The job holds its key now: nobody else may."""
        key = _key(job)
        if key is None or _is_claimed(job):
            return  # a claimed key may be free while its job lives
        others = [
            other
            for other in self._holders.get(key, ())
            if other is not job and not self._known.may_be_final(other, event.wall)
        ]
        for other in others:
            text = f"two live jobs of {key[0]} have the unique key {key[1]!r:.60}"
            self._inquiry.found("I10", event, text, other.id, job.id)
        self._holders[key] = [*others, job]

    def _stands(self, event: Event, job: Job, other: Job, asked: float) -> None:
        """A producer was told that another job has the key: it must, and it must have had it lately."""
        text = ""
        if _key(other) != _key(job):
            text = "a producer was told of a job that does not have its unique key"
        elif (
            other.final is not None and other.final_at < asked and not other.lives and not _is_claimed(other)
        ):
            text = "a unique key was still taken after its job had ended"
        if text:
            self._inquiry.found("I10", event, text, job.id, other.id)


def _is_claimed(job: Job) -> bool:
    return job.pushed is not None and job.pushed.claimed


def _key(job: Job) -> Key | None:
    asked = job.pushed
    return None if asked is None or asked.unique is None else (asked.task, asked.unique)
