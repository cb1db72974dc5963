"""The real worker on the real engine in virtual time, while everything goes wrong that can."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import msgspec
import pytest

from noria.testing.events import Fault, Seen
from noria.testing.scenario import Options, calm, command, draw
from noria.testing.simulation import Run, simulate
from noria.testing.wire import TROUBLES

RUNS = 90
"""How many runs each of the two halves makes in the suite: the same ones for the same commit."""
STORM_SECONDS = 3.5 * 3600
"""And for how long in a storm."""
SMALL = 4
"""A seed whose calm run makes few calls, with several jobs of every kind."""


def run(options: Options) -> Run:
    return simulate(options)


@pytest.mark.storm
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("half", [0, 1])
def test_no_promise_is_broken_whatever_dies_or_stalls(half: int, seed: int, storm: bool) -> None:
    until, made = time.monotonic() + STORM_SECONDS, 0
    while time.monotonic() < until if storm else made < RUNS:
        result = run(draw((seed << 32) + 2 * made + half))
        made += 1
        assert not result.verdict.findings, result.report()
        assert result.verdict.looked
    print(f"{made} simulated runs from seed {seed}, half {half}: no finding")


@pytest.mark.storm
@pytest.mark.timeout(4 * 3600)
def test_any_one_call_may_go_wrong(seed: int, storm: bool) -> None:
    """The calls of one run are made to fail one after the other, until the run makes no more."""
    number, made = 1, 1
    while number <= made:
        ways = TROUBLES if storm else (TROUBLES[(number + seed) % len(TROUBLES)],)
        for trouble in ways:
            result = run(msgspec.structs.replace(calm(SMALL), script=((number, trouble),)))
            assert not result.verdict.findings, result.report()
            made = result.calls
        number += 1
    assert made > 50


def test_every_call_of_the_store_can_go_wrong() -> None:
    stormy = msgspec.structs.replace(
        draw(2), trouble=0.5, troubles=TROUBLES, jobs=40, edits=9, holds=3, lossy=True
    )

    told = {(fault.call, fault.what) for fault in faults(run(stormy)) if fault.call}

    assert {what for _, what in told} == set(TROUBLES)
    assert {"push", "lease", "settle", "renew", "sweep", "open", "alter", "steer"} <= {
        call for call, _ in told
    }


def test_one_seed_gives_one_run() -> None:
    options = msgspec.structs.replace(draw(4), trouble=0.2, troubles=TROUBLES, outages=1, jumps=2, readers=2)

    first, second = run(options), run(options)

    assert first.digest == second.digest


def test_the_command_of_a_run_makes_it_again_in_another_process() -> None:
    options = msgspec.structs.replace(calm(SMALL), script=((30, "unheard"), (60, "cancelled")))

    told = replay(command(options))

    assert told.returncode == 0, told.stdout + told.stderr
    assert f"digest: {run(options).digest}\n" in told.stdout


def test_a_slow_store_has_no_reader_told_anything_twice() -> None:
    """Seed 1 once had a version told twice: the look for all readers had come later than the stream's own."""
    seen = 0
    for seed in range(4):
        slow = {"readers": 8, "trouble": 0.3, "troubles": ("slow",), "jobs": 6, "outages": 0}
        result = run(msgspec.structs.replace(draw(seed), **slow))
        assert not result.verdict.findings, result.report()
        seen += sum(isinstance(event.fact, Seen) for event in result.events)
    assert seen > 0


def test_seeds_differ_in_what_they_do() -> None:
    assert len({run(draw(seed)).digest for seed in range(5)}) == 5


def test_options_that_no_seed_draws_are_not_passed_off_as_a_seeds() -> None:
    assert command(draw(9)) == "python -m noria.testing.replay 9"
    assert "other options" in command(msgspec.structs.replace(draw(9), jobs=1_000))


def faults(result: Run) -> list[Fault]:
    return [event.fact for event in result.events if isinstance(event.fact, Fault)]


def replay(line: str) -> subprocess.CompletedProcess[str]:
    """Run the command of a run, where strings hash otherwise than here."""
    words = line.split()
    assert words[:1] == ["python"]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    return subprocess.run(
        [sys.executable, *words[1:]], env=environment, capture_output=True, text=True, timeout=50
    )
