"""The real worker on the real engine in virtual time, under kills and pauses."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from noria.testing.scenario import Options, draw
from noria.testing.simulation import SOUND, Build, Run, burial, simulate
from tests.sim.broken import SETTLED_BEFORE_RUN, UNFENCED

SECONDS = 110.0
"""How long the two halves run in the suite; a storm runs STORM_RUNS instead."""
STORM_RUNS = 500_000


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.CRITICAL + 1, logger="noria")
    with burial():
        yield


def run(options: Options, build: Build = SOUND) -> Run:
    return simulate(options, build)


def caught(build: Build, seeds: range) -> Run | None:
    """The first run of a broken build that the checker refuses."""
    runs = (run(draw(seed), build) for seed in seeds)
    return next((each for each in runs if each.verdict.findings), None)


@pytest.mark.storm
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("half", [0, 1])
def test_no_promise_is_broken_whatever_dies_or_stalls(half: int, seed: int, storm: bool) -> None:
    began, made = time.monotonic(), 0
    while made < STORM_RUNS if storm else time.monotonic() - began < SECONDS:
        options = draw((seed << 32) + 2 * made + half)
        result = run(options)
        made += 1
        assert not result.verdict.findings, result.report()
        assert result.verdict.looked
    print(f"{made} simulated runs from seed {seed}, half {half}: no finding")


def test_one_seed_gives_one_run() -> None:
    options = draw(4)

    first, second = run(options), run(options)

    assert first.digest == second.digest


def test_seeds_differ_in_what_they_do() -> None:
    assert len({run(draw(seed)).digest for seed in range(5)}) == 5


def test_the_checker_catches_a_build_without_the_fence() -> None:
    result = caught(UNFENCED, range(300))

    assert result is not None
    assert {"I4", "I6", "I3"} & {finding.code for finding in result.verdict.findings}


def test_the_checker_catches_a_build_that_settles_before_it_runs() -> None:
    result = caught(SETTLED_BEFORE_RUN, range(50))

    assert result is not None
    assert "I3" in {finding.code for finding in result.verdict.findings}
