"""The words that find jobs mean what they say, and a wrong one is never dropped in silence."""

from __future__ import annotations

import pytest

from noria.backends.contract import Query
from noria.cli.query import parse
from noria.errors import InvalidInput
from noria.model.state import State

NOW = 1_000_000.0


def test_no_words_find_everything() -> None:
    assert parse([], NOW) == Query()


def test_words_narrow_and_lists_are_alternatives() -> None:
    words = [
        "state:failed,expired",
        "state:queued",
        "task:a",
        "task:b",
        "queue:mail",
        "tag:vip",
        "correlation:r:5",
    ]
    assert parse([*words, "dead"], NOW) == Query(
        states=(State.FAILED, State.EXPIRED, State.QUEUED), tasks=("a", "b"), queues=("mail",),
        tag="vip", correlation_id="r:5", dead=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "after", "before"),
    [
        ("created:>2h", None, NOW - 7200),
        ("created:<1h30m", NOW - 5400, None),
        ("created:>1970-01-02", 86400.0, None),
        ("created:<1970-01-02T00:00:00Z", None, 86400.0),
        ("created:>1970-01-02T02:00:00+02:00", 86400.0, None),
    ],
)
def test_ages_and_dates_of_creation(word: str, after: float | None, before: float | None) -> None:
    assert parse([word], NOW) == Query(created_after=after, created_before=before)


def test_the_narrowest_bounds_win() -> None:
    query = parse(["created:<2h", "created:<1h", "created:>10m", "created:>5m"], NOW)
    assert query == Query(created_after=NOW - 3600, created_before=NOW - 600)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("stat:failed", "state:"),
        ("failed", "no query word"),
        ("state:", "state:failed"),
        ("state:done", "succeeded"),
        ("state:failed,", "no state"),
        ("task:a b", "cannot name a task"),
        ("created:2h", "< or >"),
        ("created:>soon", "no duration"),
        ("created:>2026-13-99", "no date"),
        ("", "no query word"),
    ],
)
def test_a_wrong_word_is_told(word: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        parse([word], NOW)


def test_one_tag_only() -> None:
    assert parse(["tag:a", "tag:a"], NOW).tag == "a"
    with pytest.raises(InvalidInput, match="once"):
        parse(["tag:a", "tag:b"], NOW)
