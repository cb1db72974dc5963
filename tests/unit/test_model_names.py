"""Names and texts that every backend, page and file can carry."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.errors import InvalidName, InvalidOption, NoriaError
from noria.model.names import MAX_NAME, check_name, check_text

GOOD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}", re.ASCII)

HOSTILE = [
    "",
    " ",
    "a b",
    "a\n",
    "a\x00",
    "-rf",
    ".hidden",
    "..",
    "../../etc/passwd",
    "a/b",
    "a\\b",
    "a:b",
    "a*",
    "a#",
    "{a}",
    "a[0]",
    "a?",
    "'; drop table jobs; --",
    'a"b',
    "<script>",
    "q\u0430",  # a Cyrillic letter that looks like a Latin one
    "\u0661",  # a digit that is not ASCII
    "\ud800",
    "x" * (MAX_NAME + 1),
    "CON:",
    "%00",
    "a\u200b",
]


@given(text=st.from_regex(GOOD, fullmatch=True))
def test_a_good_name_is_accepted_unchanged(text: str) -> None:
    assert check_name("queue", text) == text


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_hostile_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidName) as caught:
        check_name("queue", text)

    assert caught.value.field == "queue"


@given(text=st.text() | st.text("ab-._/:*\n\x00 é", min_size=1, max_size=6))
def test_a_name_is_accepted_exactly_if_it_has_the_form(text: str) -> None:
    if GOOD.fullmatch(text):
        assert check_name("task", text) == text
    else:
        with pytest.raises(InvalidName):
            check_name("task", text)


@pytest.mark.parametrize(
    "value", [None, 1, b"mail", ["mail"], object()], ids=lambda value: type(value).__name__
)
def test_only_text_can_be_a_name(value: Any) -> None:
    with pytest.raises(InvalidName):
        check_name("worker", value)


@given(text=st.text(min_size=1, max_size=20).map(lambda text: text * 1_000))
def test_the_message_of_a_refusal_is_short(text: str) -> None:
    with pytest.raises(InvalidName) as caught:
        check_name("task", "/" + text)

    assert len(str(caught.value)) < 400


@given(text=st.text(max_size=80), limit=st.integers(1, 64))
def test_free_text_is_printable_and_short_or_refused(text: str, limit: int) -> None:
    if 0 < len(text) <= limit and text.isprintable():
        assert check_text("unique", text, limit) == text
    else:
        with pytest.raises(InvalidOption) as caught:
            check_text("unique", text, limit)
        assert caught.value.field == "unique"
        assert ("has control characters" in str(caught.value)) == (0 < len(text) <= limit)


@pytest.mark.parametrize("value", [None, 1, b"x"], ids=lambda value: type(value).__name__)
def test_only_text_is_free_text(value: Any) -> None:
    with pytest.raises(InvalidOption):
        check_text("tag", value, 10)


def test_refusals_can_be_caught_as_one_kind() -> None:
    assert issubclass(InvalidName, NoriaError)
    assert issubclass(InvalidName, ValueError)
