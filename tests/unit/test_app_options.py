"""Options of jobs: each is checked, and says what is wrong with it."""

from __future__ import annotations

import math
import uuid
from datetime import UTC, datetime, timedelta, timezone
from difflib import get_close_matches
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria import Backoff, InvalidInput, InvalidOption, Noria, WorkerSettings
from noria.app.options import JOB_CHECKS, TASK_CHECKS, JobOptions, TaskOptions, WorkerOptions
from noria.model.job import Lane, NewJob

NOW = 1_800_000_000.0
NAIVE = datetime.fromtimestamp(NOW, UTC).replace(tzinfo=None)


class Still:
    """A clock that stands."""

    def wall(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return 0.0


app = Noria(clock=Still())


@app.task(queue="mail", priority=2, attempts=4, crashes=2, keep=60, timeout=9)
async def send(to: str) -> str:
    return to


def made(**options: Any) -> NewJob:
    return send.options(**options).job("x").new


def test_a_job_has_the_tasks_defaults() -> None:
    job = made()
    assert (job.task, job.queue, job.priority, job.attempts, job.crash_budget) == ("send", "mail", 2, 4, 2)
    assert (job.keep, job.delay, job.at, job.expires, job.deadline, job.unique) == (
        60,
        0,
        None,
        None,
        None,
        None,
    )
    assert (job.lane, job.codec, job.extras.timeout) == (Lane.LOOP, "json", None)


def test_options_win_over_the_tasks_defaults() -> None:
    backoff = Backoff(base=3)
    job = made(
        queue="q", priority=-9, attempts=1, crashes=9, keep=None, timeout=1, retry=backoff, delay=5,
        unique="k", tags=["a", "b"], correlation_id="c",
    )  # fmt: skip
    assert (job.queue, job.priority, job.attempts, job.crash_budget) == ("q", -9, 1, 9)
    assert (job.keep, job.delay, job.unique) == (None, 5.0, "k")
    extras = job.extras
    assert (extras.timeout, extras.retry, extras.tags, extras.correlation_id) == (
        1.0,
        backoff,
        ("a", "b"),
        "c",
    )


def test_every_job_has_its_own_id_unless_the_options_name_one() -> None:
    bound = send.options(delay=1)
    assert bound.job("x").id != bound.job("x").id
    chosen = uuid.UUID(int=7)
    assert send.options(id=chosen).job("x").id == send.options(id=str(chosen)).job("x").id == str(chosen)


def test_times_may_be_seconds_from_now_or_moments() -> None:
    east = timezone(timedelta(hours=8))
    moment = datetime.fromtimestamp(NOW + 90, UTC).astimezone(east)
    job = made(at=moment, expires=120, deadline=moment + timedelta(hours=1))
    assert (job.at, job.expires, job.deadline) == (NOW + 90, NOW + 120, NOW + 3690)


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"delay": -1}, "delay", "0 or more seconds"),
        ({"delay": True}, "delay", "0 or more seconds"),
        ({"delay": "5"}, "delay", "0 or more seconds"),
        ({"delay": math.nan}, "delay", "0 or more seconds"),
        ({"delay": math.inf}, "delay", "0 or more seconds"),
        ({"delay": 10**400}, "delay", "0 or more seconds"),
        ({"delay": timedelta(1)}, "delay", "0 or more seconds"),
        ({"at": 5}, "at", "datetime with a time zone"),
        ({"at": NAIVE}, "at", "date without zone"),
        ({"expires": NAIVE}, "expires", "date without zone"),
        ({"deadline": 0}, "deadline", "at least 0.001 seconds"),
        ({"deadline": "soon"}, "deadline", "datetime with a time zone, or seconds from now"),
        ({"expires": "soon"}, "expires", "datetime with a time zone, or seconds from now"),
        ({"delay": 1, "at": datetime.now(UTC)}, "at", "give one of them"),
        ({"delay": 60, "expires": 30}, "expires", "before the job may run"),
        ({"delay": 60, "deadline": 60}, "deadline", "before the job may run"),
        ({"priority": 10}, "priority", "from -9 to 9"),
        ({"priority": 1.0}, "priority", "whole number"),
        ({"attempts": 0}, "attempts", "from 1"),
        ({"attempts": True}, "attempts", "whole number"),
        ({"crashes": 0}, "crashes", "from 1"),
        ({"timeout": 0}, "timeout", "at least 0.001"),
        ({"timeout": 1e-9}, "timeout", "at least 0.001"),
        ({"timeout": None}, "timeout", "at least 0.001"),
        ({"keep": -1}, "keep", "0 or more"),
        ({"retry": 5}, "retry", "must be a Backoff"),
        ({"retry": Backoff(never=(ValueError,))}, "retry", "carries no code"),
        ({"unique": ""}, "unique", "printable"),
        ({"unique": "x" * 513}, "unique", "512"),
        ({"unique": 5}, "unique", "printable"),
        ({"tags": "urgent"}, "tags", "list of at most 16"),
        ({"tags": ["x"] * 17}, "tags", "list of at most 16"),
        ({"tags": ["a\n"]}, "tags", "has control characters"),
        ({"correlation_id": "a\0"}, "correlation_id", "has control characters"),
        ({"queue": "a/b"}, "queue", "cannot name a queue"),
        ({"id": "5"}, "id", "UUID"),
        ({"prioritty": 5}, "prioritty", "did you mean 'priority'"),
        ({"zzz": 5}, "zzz", "there are after, at, attempts"),
    ],
)
def test_options_that_are_wrong_are_named(options: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        made(**options)
    assert caught.value.field == field


hostile = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=50)
    | st.binary()
    | st.lists(st.text())
)


@given(st.sampled_from(sorted(JOB_CHECKS)), hostile)
def test_no_value_of_an_option_raises_anything_but_a_refusal(name: str, value: object) -> None:
    try:
        made(**{name: value})
    except InvalidInput as error:
        assert error.field in (name, "id")


@given(st.text(max_size=80))
def test_an_unknown_option_is_refused_whatever_its_name(name: str) -> None:
    if name not in JOB_CHECKS:
        with pytest.raises(InvalidOption) as caught:
            send.options(**{name: 1})
        near = get_close_matches(name, JOB_CHECKS, 1, 0.5)
        assert all(each in str(caught.value) for each in near)


def test_what_editors_show_is_what_is_checked() -> None:
    assert set(get_type_hints(TaskOptions)) == set(TASK_CHECKS)
    assert set(get_type_hints(JobOptions)) == set(JOB_CHECKS)
    assert set(WorkerOptions.__annotations__) == set(WorkerSettings.__dataclass_fields__)
