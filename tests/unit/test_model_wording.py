"""Numbers in sentences agree with what they count."""

from __future__ import annotations

import re

import pytest

from noria.model.wording import count, ordinal, shares
from tests.support.source import read_package


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (2000, "2,000 jobs")]
)
def test_a_noun_agrees_with_its_number(number: int, text: str) -> None:
    assert count(number, "job") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (1_221, "1,221st")],
)
def test_a_place_is_told_as_people_say_it(number: int, text: str) -> None:
    assert ordinal(number) == text


@pytest.mark.parametrize(
    ("crashed", "released", "text"),
    [
        (1, 0, "1 job crashed"),
        (0, 1, "1 job released"),
        (2, 1, "2 jobs crashed, 1 released"),
        (1, 2_000, "1 job crashed, 2,000 released"),
        (0, 0, "no jobs"),
    ],
)
def test_zeros_are_left_out(crashed: int, released: int, text: str) -> None:
    assert shares("job", {"crashed": crashed, "released": released}) == text


_COUNTED = re.compile(
    r"(%d|\{[^{}]*\}) (\w+ )?"
    r"(jobs|tasks|workers|queues|starts|lines|outcomes|sessions|slots|results|attempts|events|letters|cores)\b"
)
_CONSTANT = re.compile(r"\{[A-Z_]+(:,)?\} ")


def uncounted(text: str) -> list[str]:
    """Places where a number stands before a noun that is always plural."""
    found = (match[0] for match in _COUNTED.finditer(text))
    return [each for each in found if not _CONSTANT.match(each)]


def test_every_sentence_leaves_its_plurals_to_count() -> None:
    found = {source.path: uncounted(source.text) for source in read_package()}

    assert {path: places for path, places in found.items() if places} == {}


def test_the_check_sees_a_plural_that_may_be_wrong() -> None:
    assert uncounted('log.warning("%s: %d jobs crashed, %d released", a, b, c)') == ["%d jobs"]
    assert uncounted('f"{n:,} lost jobs"') == ["{n:,} lost jobs"]
    assert uncounted("f\"{count(n, 'job')} lost, {MAX:,} jobs at most\"") == []
