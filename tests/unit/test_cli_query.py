"""The words that find jobs are those of REST, and survive the shell; a wrong one is never dropped in silence."""

from __future__ import annotations

import pytest

from noria.backends.contract import Query, Term
from noria.cli.query import parse
from noria.errors import InvalidInput
from noria.model.state import State

NOW = 1_000_000.0


def test_no_words_find_everything() -> None:
    assert parse([], NOW) == ("", Query())


def test_words_narrow_and_lists_are_alternatives() -> None:
    found = parse(["state:failed,expired", "task:a,shop.*", "queue:mail", "tag:vip", "dead"], NOW)
    assert found.text == "state:failed,expired task:a,shop.* queue:mail tag:vip dead"
    assert found.query == Query(
        states=(State.FAILED, State.EXPIRED), tasks=("a", "shop.*"), queues=("mail",), tag="vip", dead=True
    )


@pytest.mark.parametrize(
    ("word", "text", "term"),
    [
        ("error:timed out", 'error:"timed out"', Term("error", "timed out")),
        ("-error:timed out", '-error:"timed out"', Term("error", "timed out", negated=True)),
        ("two words", '"two words"', Term("text", "two words")),
        ('say "no"', '"say \\"no\\""', Term("text", 'say "no"')),
        ('error:"quoted already"', 'error:"quoted already"', Term("error", "quoted already")),
        ("args.phone:138*", "args.phone:138*", Term("args", "138", "phone", prefix=True)),
    ],
)
def test_what_the_shell_has_unquoted_is_one_word_still(word: str, text: str, term: Term) -> None:
    assert parse([word], NOW) == (text, Query(terms=(term,)))


def test_ages_count_from_now() -> None:
    assert parse(["created:>2h"], NOW).query == Query(created_before=NOW - 7200)


@pytest.mark.parametrize(
    "word",
    ["", " ", "state:wrong", "created:2h", "what:x", "created:>2026-13-99", "created:<2026-11-30 10:00"],
)
def test_a_wrong_word_is_told(word: str) -> None:
    with pytest.raises(InvalidInput):
        parse([word], NOW)


@pytest.mark.parametrize(
    "word", ["queue:", "-queue:", "tag:", "args.phone:", 'task:""', "created:", "parent:"]
)
def test_a_word_without_a_value_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match=r"needs a value|needs < or >"):
        parse(["state:failed", word], NOW)


@pytest.mark.parametrize("word", ["queue:a,", "queue:,a", "task:a,,b", "-worker:a,", "queue:,"])
def test_a_name_that_is_missing_beside_a_comma_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="no name before or behind a comma"):
        parse([word], NOW)
