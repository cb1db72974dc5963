"""How a worker divides its room among queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from noria.errors import InvalidInput
from noria.ids import IdSource
from noria.model.job import Lane, Lease
from noria.model.outcome import Tally
from noria.worker.settings import WorkerSettings
from noria.worker.shares import Shares
from tests.support.manual import ManualClock

_ids = IdSource(ManualClock())


def lease(queue: str) -> Lease:
    return Lease(
        id=_ids.next(),
        starts=1,
        task="t",
        queue=queue,
        body=b"[]",
        codec="json",
        tally=Tally(0, 5, 0, 3, 0, 0),
    )


def served(shares: Shares, waiting: Counter[str], now: int, ahead: int = 0) -> list[str]:
    """What a backend gives for the wants: each filled, then what is left over, as `choose` does."""
    wants, left, came = shares.wants(Lane.LOOP, now, ahead, suspect=False), now + ahead, []
    for most in ({want.queue: want.now + want.ahead for want in wants}, dict.fromkeys(waiting, now + ahead)):
        for want in wants:
            taken = min(most.get(want.queue, 0), waiting[want.queue], left)
            came += [want.queue] * taken
            waiting[want.queue] -= taken
            left -= taken
    shares.given(map(lease, came))
    return came


def shares_of(
    weights: Mapping[str, int], waiting: Mapping[str, int], *, rounds: int, now: int
) -> Counter[str]:
    shares, left, came = Shares(weights), Counter(waiting), Counter[str]()
    for _ in range(rounds):
        came.update(served(shares, left, now))
    return came


@pytest.mark.parametrize("now", [1, 3, 7, 10, 100])
def test_queues_that_both_have_jobs_share_by_weight(now: int) -> None:
    came = shares_of({"detail": 8, "list": 2}, {"detail": 10_000, "list": 10_000}, rounds=50, now=now)

    assert came.total() == 50 * now
    assert abs(came["detail"] - came.total() * 0.8) <= 1


def test_queues_without_weights_share_evenly() -> None:
    came = shares_of(dict.fromkeys("abc", 1), dict.fromkeys("abc", 1_000), rounds=100, now=1)

    assert sorted(came.values()) == [33, 33, 34]


def test_what_one_queue_leaves_the_others_have() -> None:
    assert shares_of({"detail": 8, "list": 2}, {"list": 1_000}, rounds=10, now=10) == {"list": 100}
    assert shares_of({"detail": 8, "list": 2}, {"detail": 3, "list": 1_000}, rounds=1, now=10) == {
        "detail": 3,
        "list": 7,
    }


def test_a_queue_that_was_empty_gets_its_share_and_no_more() -> None:
    shares, left = Shares({"detail": 8, "list": 2}), Counter({"list": 100_000})
    for _ in range(1_000):
        served(shares, left, 10)
    left["detail"] = 1_000

    came = Counter(queue for _ in range(10) for queue in served(shares, left, 10))

    assert came == {"detail": 80, "list": 20}


def test_no_queue_starves_beside_a_heavy_one() -> None:
    came = shares_of({"heavy": 1_000, "light": 1}, {"heavy": 10**6, "light": 10}, rounds=3_003, now=1)

    assert came["light"] == 3


def test_wants_that_were_never_answered_change_nothing() -> None:
    shares, calm = Shares({"a": 3, "b": 1}), Shares({"a": 3, "b": 1})
    for _ in range(1_000):
        shares.wants(Lane.LOOP, 10, 5, suspect=False)

    assert shares.wants(Lane.LOOP, 4, 0, suspect=True) == calm.wants(Lane.LOOP, 4, 0, suspect=True)


def test_room_for_jobs_to_hold_ready_is_shared_as_well() -> None:
    wants = Shares({"a": 1, "b": 1}).wants(Lane.THREAD, 4, 6, suspect=True)

    assert [(want.queue, want.now, want.ahead, want.lane) for want in wants] == [
        ("a", 2, 3, Lane.THREAD),
        ("b", 2, 3, Lane.THREAD),
    ]


@pytest.mark.parametrize(
    "weights", [{"a": 0}, {"a": -1}, {"a": 1.5}, {"a": True}, {"a": 1_001}, {"a b": 1}, 7], ids=str
)
def test_weights_that_cannot_be_shared_by_are_refused(weights: Any) -> None:
    with pytest.raises(InvalidInput):
        WorkerSettings(weights=weights)
