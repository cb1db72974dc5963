"""I11: a slot of a timer has one job at most, and none is forgotten. T9: its runs do not overlap, and a slot is skipped
only for a run that goes on. V4: a slot that has come is dealt with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from noria.model.wording import count
from noria.testing.events import Event, Fault, PushEnd, PushInvoke
from noria.testing.facts import Handler, Job
from noria.testing.inquiry import Inquiry, Invariant
from noria.testing.standings import Late, Stood


class Timed(Invariant):
    """I11, T9 and V4 of timers. The slots of a simulated timer are multiples of a period."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._slots: dict[str, tuple[str, float]] = {}
        self._jobs: dict[str, dict[float, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._before: dict[str, Stood] = {}
        self._at_last: dict[str, Stood] = {}
        self._offset: float | None = None
        self._jumped = False

    def handlers(self) -> dict[type, Handler]:
        return {
            PushInvoke: self._invoked,
            PushEnd: self._pushed,
            Stood: self._stood,
            Late: self._late,
            Fault: self._fault,
        }

    def _invoked(self, event: Event, fact: PushInvoke) -> None:
        if fact.schedule and fact.slot is not None:
            self._slots[fact.id] = (fact.schedule, fact.slot)
            self._jobs[fact.schedule][fact.slot].add(fact.id)

    def _pushed(self, event: Event, fact: PushEnd) -> None:
        """A run is stored: the last one must have ended, if nobody has had it run again."""
        if fact.status != "created" or fact.id not in self._slots:
            return
        name, slot = self._slots[fact.id]
        last = self._newest(name, slot)
        if last is not None and not last.lives and not self._known.may_be_final(last, event.wall):
            text = f"a run of {name} is enqueued while the last one goes on"
            self._inquiry.found("T9", event, text, last.id, fact.id)

    def _newest(self, name: str, before: float) -> Job | None:
        """The job of the last slot before another one, of those that surely have one."""
        earlier = sorted((slot for slot in self._jobs[name] if slot < before), reverse=True)
        stored = (job for slot in earlier for job in self._stored(name, slot))
        return next(stored, None)

    def _stored(self, name: str, slot: float) -> Iterator[Job]:
        jobs = (self._known.job(id) for id in sorted(self._jobs[name].get(slot, ())))
        return (job for job in jobs if job.created or job.grips)

    def _stood(self, event: Event, fact: Stood) -> None:
        if fact.final:
            self._at_last[fact.name] = fact
        else:
            self._before.setdefault(fact.name, fact)
        if self._offset is None:
            self._offset = event.wall - event.mono

    def _late(self, event: Event, fact: Late) -> None:
        self._inquiry.found("V4", event, f"nobody deals with the slots of {fact.name} that have come")

    def _fault(self, event: Event, fact: Fault) -> None:
        """The clock has jumped, so that nobody knows what had ended when a slot came."""
        if fact.what == "clock" and self._offset is not None:
            self._jumped |= abs(event.wall - event.mono - self._offset) > self._inquiry.rules.tolerance

    # -- at the end ------------------------------------------------------------------------------------------

    def finish(self, last: Event) -> None:
        for name, slots in sorted(self._jobs.items()):
            for slot in sorted(slots):
                jobs = [job.id for job in self._stored(name, slot)]
                if len(jobs) > 1:
                    self._inquiry.found("I11", last, f"slot {slot} of {name} has two jobs", *jobs)
        for name, stand in sorted(self._at_last.items()):
            self._count(last, self._before.get(name, stand), stand)
            if stand.overlap == "skip" and not self._jumped:
                self._reasons(last, stand)

    def _count(self, last: Event, before: Stood, stand: Stood) -> None:
        """Each slot since it was first seen has a job, waits, or was counted as left out; and no more were counted."""
        passed = {*before.waiting, *_multiples(before.last, stand.last, stand.period)}
        left_out = [
            slot for slot in sorted(passed - set(stand.waiting)) if not any(self._stored(stand.name, slot))
        ]
        told = stand.left_out - before.left_out
        if len(left_out) != told:
            text = f"{count(len(left_out), 'slot')} of {stand.name} had no job, and it tells of {told}: {left_out[-5:]}"
            self._inquiry.found("I11", last, text)
        elif stand.catch_up == "all" and told and not any(each.what == "paused" for each in stand.log):
            self._inquiry.found(
                "I11", last, f"{stand.name} is to run every slot, and left out {left_out[-5:]}"
            )

    def _reasons(self, last: Event, stand: Stood) -> None:
        """A slot was skipped: then the run before it had not ended when it came."""
        for entry in stand.log:
            if entry.what == "skipped":
                for slot in _multiples(entry.first - stand.period / 2, entry.last, stand.period):
                    self._reason(last, stand.name, slot)

    def _reason(self, last: Event, name: str, slot: float) -> None:
        job = self._newest(name, slot)
        came = slot - (self._offset or 0.0)
        if job is None:
            self._inquiry.found(
                "T9", last, f"slot {slot} of {name} was skipped, and nothing had run before it"
            )
        elif job.final is not None and not job.lives and job.final_at + self._inquiry.rules.tolerance < came:
            text = f"slot {slot} of {name} was skipped, and the run before it had ended"
            self._inquiry.found("T9", last, text, job.id)


def _multiples(after: float, until: float, period: float) -> Iterator[float]:
    """The slots later than a time and up to another one."""
    turn = int(after // period)
    while (slot := turn * period) <= until:
        if slot > after:
            yield slot
        turn += 1
