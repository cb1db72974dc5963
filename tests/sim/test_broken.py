"""The checker catches every system that has lost a rule, and lets the sound one pass with the same seeds."""

from __future__ import annotations

import pytest

from noria.testing.scenario import Options
from noria.testing.simulation import Build, simulate
from tests.sim.broken import JUDGED, NOT_YET, Broken
from tests.sim.broken_flow import BROKEN

INVARIANTS = {
    *(f"I{n}" for n in range(1, 20)),
    *(f"V{n}" for n in range(1, 5)),
    "C1",
    "C2",
    "C3",
    "D",
    "T9",
    "W16",
}


def codes(options: Options, build: Build) -> set[str]:
    return {finding.code for finding in simulate(options, build).verdict.findings}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.code}-{broken.rule}")
def test_a_build_without_the_rule_is_caught_and_the_sound_one_is_not(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(broken.seeds):
        options = broken.options(seed)
        with monkeypatch.context() as patch:
            told = codes(options, broken.breaks(patch))
        sound = simulate(options)
        assert not sound.verdict.findings, sound.report()
        if broken.code in told:
            return
    pytest.fail(f"{broken.seeds} seeds were not enough to notice that this rule is gone: {broken.rule}")


def test_every_invariant_has_a_build_that_breaks_it_or_a_reason_why_not() -> None:
    assert {broken.code for broken in BROKEN} == JUDGED
    assert not JUDGED & NOT_YET.keys()
    assert JUDGED | NOT_YET.keys() == INVARIANTS
