"""Pauses between repeats grow, differ, and never get longer than they may."""

from __future__ import annotations

import random

from noria.aio import Pauses


def test_no_pause_is_longer_than_the_longest() -> None:
    pauses = Pauses(0.05, 5.0, random.Random(1))

    assert max(pauses.next() for _ in range(200)) <= 5.0


def test_they_grow_to_nearly_that_and_none_is_like_another() -> None:
    pauses = Pauses(0.05, 5.0, random.Random(1))
    first = pauses.next()
    late = [pauses.next() for _ in range(200)][20:]

    assert 0.025 <= first <= 0.075
    assert 1.0 < min(late) < max(late)
    assert len(set(late)) == len(late)


def test_after_a_success_they_begin_anew() -> None:
    pauses = Pauses(0.05, 5.0, random.Random(1))
    for _ in range(20):
        pauses.next()

    pauses.reset()

    assert pauses.next() <= 0.075
