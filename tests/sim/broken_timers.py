"""Timers with one rule removed; `BROKEN` is the list of all broken builds, these among them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from noria import ids
from noria.backends.contract import Doc, DocWrite
from noria.ids import Id
from noria.model import schedule as timers
from noria.model.schedule import KIND, Schedule
from noria.testing.simulation import SOUND, Build
from noria.worker import timer
from noria.worker.timer import Timer
from tests.sim.broken import QUIET, Patch, without
from tests.sim.broken_streams import BROKEN as BROKEN

SEVERAL = {"schedules": 2, "periods": (1.0,), "workers": 4, "jobs": 4}
"""Timers that are often due, and workers who meet at them."""


@without("a slot is taken by who saw the timer as it stands", "I11", **SEVERAL, latency=0.05)
def _swaps_timers_blindly(patch: Patch) -> Build:
    write = timer.write
    patch.setattr(
        timer, "write", lambda name, schedule, version: unconditional(write(name, schedule, version))
    )
    return SOUND


def unconditional(doc: DocWrite) -> DocWrite:
    """The same whatever is there."""
    return replace(doc, if_version=None)


@without(
    "a slot and its job are stored in one step", "I11", **SEVERAL, kills=4, trouble=0.1, troubles=("refused",)
)
def _stores_in_two_steps(patch: Patch) -> Build:
    async def run(store: Any, id: Id, doc: Doc, schedule: Schedule, slot: float) -> Schedule:
        job = timers.job_of(schedule.template, id, doc.name, slot, slot)
        done = replace(schedule, standing=timers.ran(schedule.standing, slot, ids.to_text(id)))
        await store.write(
            [DocWrite(KIND, doc.name, timer.write(doc.name, done, 0).data, if_version=doc.version)]
        )
        await store.push([job])
        return done

    patch.setattr(timer, "_run", run)
    return SOUND


@without("slots that came while nobody was there are counted", "I11", **SEVERAL, outages=2)
def _forgets_missed_slots(patch: Patch) -> Build:
    noted = timers._noted
    patch.setattr(
        timers,
        "_noted",
        lambda standing, what, slots: standing if what == "missed" else noted(standing, what, slots),
    )
    return SOUND


@without("a run begins when the last one has ended", "T9", **{**QUIET, **SEVERAL})
def _overlaps(patch: Patch) -> Build:
    async def none(self: Timer, jobs: object) -> frozenset[str]:
        return frozenset()

    patch.setattr(Timer, "_live", none)
    return SOUND


@without(
    "only a run that goes on has a slot skipped", "T9", **{**QUIET, **SEVERAL}, cancels=0, retries=0, edits=0
)
def _skips_for_what_has_ended(patch: Patch) -> Build:
    async def every(self: Timer, jobs: list[str]) -> frozenset[str]:
        return frozenset(jobs)

    patch.setattr(Timer, "_live", every)
    return SOUND


@without("a worker looks at a timer when its slot comes", "V4", **SEVERAL)
def _looks_at_no_timer(patch: Patch) -> Build:
    patch.setattr(timers, "wakes", lambda *_: None)
    return SOUND
