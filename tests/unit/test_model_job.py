"""The place of a job in its queue, and jobs as values."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.ids import Id
from noria.model.backoff import Backoff
from noria.model.job import Extras, NewJob, rank
from noria.model.limits import AGEING

dues = st.integers(0, 10**13).map(lambda millis: millis / 1000)
priorities = st.integers(-9, 9)


@given(first=dues, second=dues, priority=priorities)
def test_of_equal_priority_the_older_job_runs_first(first: float, second: float, priority: int) -> None:
    assert (rank(first, priority) < rank(second, priority)) == (round(first * 1000) < round(second * 1000))


@given(due=dues, low=priorities, high=priorities)
def test_at_the_same_instant_the_higher_priority_runs_first(due: float, low: int, high: int) -> None:
    assert (rank(due, high) < rank(due, low)) == (high > low)


@given(due=dues, priority=st.integers(-8, 9), late=st.floats(0, AGEING - 0.01))
def test_priority_is_strict_within_the_hour(due: float, priority: int, late: float) -> None:
    assert rank(due + late, priority) < rank(due, priority - 1)


@given(due=dues, priority=st.integers(-9, 8), more=st.floats(0.01, 1e6))
def test_an_hour_of_waiting_is_worth_one_step(due: float, priority: int, more: float) -> None:
    assert rank(due, priority) == rank(due + AGEING, priority + 1)
    assert rank(due, priority) < rank(due + AGEING + more, priority + 1)


@given(due=dues, priority=priorities)
def test_no_priority_starves_another_for_long(due: float, priority: int) -> None:
    longest = 18 * AGEING

    assert rank(due, priority) < rank(due + longest + 1, 9)


@given(due=st.floats(0, 200_000_000_000), priority=priorities)
def test_a_rank_is_a_number_that_every_store_can_keep(due: float, priority: int) -> None:
    value = rank(due, priority)

    assert isinstance(value, int)
    assert math.isfinite(value)
    assert -(2**53) < value < 2**53  # a sorted set of Redis scores by doubles


def test_ageing_can_be_switched_off() -> None:
    assert rank(5.0, 9, ageing=0.0) == rank(5.0, -9, ageing=0.0)


texts = st.text(max_size=20)
jobs = st.builds(
    NewJob,
    id=st.binary(min_size=16, max_size=16).map(Id),
    task=texts,
    queue=texts,
    body=st.binary(max_size=50),
    unique=st.none() | texts,
    keep=st.none() | st.floats(0, 1e9),
    extras=st.builds(
        Extras,
        timeout=st.none() | st.floats(0, 1e9),
        retry=st.none() | st.builds(Backoff, base=st.floats(0, 100)),
        tags=st.lists(texts, max_size=3).map(tuple),
        correlation_id=texts,
    ),
)


@given(job=jobs)
def test_a_job_survives_crossing_a_wire(job: NewJob) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(job), type=NewJob) == job
    assert msgspec.json.decode(msgspec.json.encode(job), type=NewJob) == job


def test_a_job_does_not_change_once_made() -> None:
    job = NewJob(id=Id(bytes(16)), task="t", queue="q", body=b"{}")

    with pytest.raises(AttributeError):
        job.priority = 3  # type: ignore[misc]  # frozen: that is the point
