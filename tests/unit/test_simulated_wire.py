"""The wire of a simulated process: each way in which a call goes wrong is what its name says, and no other."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from noria.backends.contract import Backend
from noria.errors import Unavailable, Unknown
from noria.ids import seeded
from noria.testing.events import Fault
from noria.testing.virtual import Process, VirtualLoop
from noria.testing.wire import CALLS, TROUBLES, Trouble, Weather, Wire, fits

LATEST = 4.0


class Store:
    """Counts what reaches it, and when."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.done: list[float] = []
        self.plain = "as it is"

    async def settle(self, number: int) -> int:
        self.done.append(self._loop.time())
        return number


class Trial:
    """One call of a simulated process, and all that comes of it."""

    def __init__(self, script: Mapping[int, Trouble], seed: int = 3) -> None:
        loop = VirtualLoop(1)
        self.told: list[Fault] = []
        self.answered: float | None = None
        weather = Weather(
            seeded(seed),
            share=0.0,
            kinds=(),
            latest=LATEST,
            script=script,
            note=self.told.append,  # type: ignore[arg-type]  # a wire tells of nothing but faults
        )
        self.store = Store(loop)
        wire = Wire(self.store, weather, seeded(seed), 0.0)
        try:
            self.outcome: Any = loop.run_until_complete(self._play(loop, wire))
            loop.run_until_complete(weather.settled())
        finally:
            loop.close()

    async def _play(self, loop: VirtualLoop, wire: Wire) -> Any:
        task = Process(loop, "worker1").start(wire.settle(7))
        await asyncio.wait([task])
        self.answered = loop.time()
        return asyncio.CancelledError() if task.cancelled() else task.exception() or task.result()

    @property
    def done(self) -> int:
        return len(self.store.done)


def test_a_call_that_goes_well_is_done_once_and_nothing_is_told() -> None:
    trial = Trial({})

    assert (trial.outcome, trial.done, trial.told) == (7, 1, [])


@pytest.mark.parametrize(
    ("trouble", "error", "times"),
    [("refused", Unavailable, 0), ("lost", Unknown, 0), ("unheard", Unknown, 1), ("belated", Unknown, 1)],
)
def test_a_call_without_an_answer(trouble: Trouble, error: type[Exception], times: int) -> None:
    trial = Trial({1: trouble})

    assert isinstance(trial.outcome, error)
    assert trial.done == times


def test_a_belated_call_is_done_after_its_caller_was_told_that_nobody_knows() -> None:
    trial = Trial({1: "belated"})

    assert trial.answered is not None
    assert trial.answered < trial.store.done[0] <= LATEST


def test_a_slow_call_is_done_at_once_and_answered_late() -> None:
    trial = Trial({1: "slow"})

    assert trial.outcome == 7
    assert trial.answered is not None
    assert trial.store.done[0] < trial.answered <= LATEST


@pytest.mark.parametrize("seed", range(4))
def test_a_repeated_call_is_done_twice_and_answered_once(seed: int) -> None:
    trial = Trial({1: "repeated"}, seed)

    assert trial.outcome == 7
    assert trial.done == 2


def test_a_cancelled_call_is_done_or_not_and_its_caller_is_cancelled() -> None:
    trials = [Trial({1: "cancelled"}, seed) for seed in range(8)]

    assert all(isinstance(trial.outcome, asyncio.CancelledError) for trial in trials)
    assert {trial.done for trial in trials} == {0, 1}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_each_is_told_from_its_beginning_to_its_end(trouble: Trouble) -> None:
    told = Trial({1: trouble}).told

    assert [(fault.phase, fault.what, fault.target, fault.call) for fault in told] == [
        ("begin", trouble, "worker1", "settle"),
        ("end", trouble, "worker1", "settle"),
    ]


def test_nobody_is_told_twice_what_only_one_may_be_told() -> None:
    assert not fits("repeated", "lease", "worker1")
    assert not fits("belated", "lease", "worker1")
    assert not fits("belated", "alter", "producer1")
    assert not fits("cancelled", "push", "producer1")


def test_every_call_of_the_contract_goes_over_the_wire() -> None:
    calls = {name for name, value in inspect.getmembers(Backend, inspect.iscoroutinefunction)}

    assert calls - {"start", "aclose", "notify"} == CALLS
