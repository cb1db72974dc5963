"""When a failed job runs again."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.errors import InvalidOption
from noria.model.backoff import Backoff

backoffs = st.builds(
    Backoff,
    base=st.floats(0, 1e9),
    cap=st.floats(0, 1e9),
    factor=st.floats(1, 1e6),
    jitter=st.sampled_from(["full", "none"]),
)
chances = st.floats(0, 1, exclude_max=True)


def test_waits_double_until_the_cap() -> None:
    backoff = Backoff(base=1, cap=20, jitter="none")

    assert [backoff.wait(spent, lambda: 0.0) for spent in range(1, 8)] == [1, 2, 4, 8, 16, 20, 20]


def test_full_jitter_draws_evenly_between_nothing_and_the_bound() -> None:
    rng = random.Random(1)
    draws = [Backoff(base=10, cap=1000).wait(3, rng.random) for _ in range(4000)]

    assert 0 <= min(draws) < 1
    assert 39 < max(draws) < 40
    assert math.isclose(sum(draws) / len(draws), 20, rel_tol=0.05)


@given(backoff=backoffs, spent=st.integers(-5, 10_000), chance=chances)
def test_a_wait_is_never_negative_and_never_beyond_the_cap(
    backoff: Backoff, spent: int, chance: float
) -> None:
    assert 0 <= backoff.wait(spent, lambda: chance) <= backoff.cap


@given(backoff=backoffs, spent=st.integers(1, 10_000), chance=chances)
def test_a_later_attempt_never_waits_less_for_the_same_chance(
    backoff: Backoff, spent: int, chance: float
) -> None:
    assert backoff.wait(spent, lambda: chance) <= backoff.wait(spent + 1, lambda: chance)


@given(backoff=backoffs)
def test_a_backoff_survives_being_stored(backoff: Backoff) -> None:
    assert msgspec.json.decode(msgspec.json.encode(backoff), type=Backoff) == backoff


@pytest.mark.parametrize(
    "wrong",
    [
        {"base": -1},
        {"base": math.nan},
        {"base": math.inf},
        {"base": "1"},
        {"base": True},
        {"cap": -0.1},
        {"cap": math.inf},
        {"cap": None},
        {"factor": 0.99},
        {"factor": math.nan},
        {"jitter": "some"},
        {"never": ValueError},
        {"never": [ValueError]},
        {"never": (ValueError, "KeyError")},
        {"never": (ValueError(),)},
    ],
    ids=str,
)
def test_numbers_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        Backoff(**wrong)

    assert caught.value.field == f"retry.{next(iter(wrong))}"


def test_never_refuses_the_class_and_its_children_and_nothing_else() -> None:
    backoff = Backoff(never=(LookupError,))

    assert backoff.refuses(LookupError())
    assert backoff.refuses(KeyError("x"))
    assert not backoff.refuses(ValueError())
    assert not Backoff().refuses(ValueError())
