"""The words by which commands find jobs are those of REST: state:failed task:shop.* tag:vip created:>2h dead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from noria.backends.contract import Query
from noria.errors import InvalidInput
from noria.front.query import read_query

_NAMED: Final = re.compile(r"(-?[a-z_]+(?:\.[^\s:\"]*)?:)(.*)", re.ASCII | re.DOTALL)
_SPACES: Final = re.compile(r'[\s"]')


class Wanted(NamedTuple):
    """Which jobs are meant: as text for a front, and as a query for a store."""

    text: str
    query: Query


def parse(words: Iterable[str], now: float) -> Wanted:
    """Read query words, all of which must match.

    Args:
        words: as the shell gives them: what it has unquoted is quoted again, so that free text stays one word.
        now: seconds since the epoch, from which ages count.

    Raises:
        InvalidInput: a word is unknown, or its value has the wrong form.
    """
    text = " ".join(map(_quoted, words))
    return Wanted(text, read_query({"q": text}, now) if text else Query())


def _quoted(word: str) -> str:
    """A word with its value in quotes, if there are spaces in it and no quotes around it yet.

    Raises:
        InvalidInput: it is empty: a shell's variable that is not set must not mean all jobs.
    """
    if not word.strip():
        raise InvalidInput("an empty word is no query word", field="query")
    found = _NAMED.fullmatch(word)
    name, value = found.groups() if found else ("", word)
    if not _SPACES.search(value) or re.fullmatch(r'-?"(?:[^"\\]|\\.)*"', value):
        return word
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}"{escaped}"'
