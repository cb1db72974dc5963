"""The scripts of the Redis backend: every head comment is there, and what two languages say is the same."""

from __future__ import annotations

import re
import struct

import pytest

from noria.backends.redis import heads
from noria.backends.redis.checks import COMMANDS
from noria.backends.redis.scripts import needs, read, script, script_names
from noria.model.groups import WINDOW
from noria.model.limits import AGEING, MAX_HINT, SUSPECT_AT
from noria.model.state import State

PIECES = (
    *("start", "heads", "gather", "ties", "places", "refill", "passage", "prune", "rows", "board", "write"),
    *("declare", "tokens", "wants", "bound", "notes", "one_push", "one_lease", "one_success"),
)


def number(file: str, name: str) -> int:
    """A constant in a Lua file."""
    found = re.search(rf"^local {name} = (\d+)$", read(file), re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("name", script_names())
def test_a_script_says_what_it_takes_gives_locks_and_why_it_may_be_repeated(name: str) -> None:
    text = read(name)

    assert text.startswith("#!lua")
    for word in ("-- Needs: ", "-- In: ", "-- Locks: ", "-- Safe to repeat: "):
        assert word in text, word
    assert "Out: " in text
    assert needs(name)[:1] == ([] if name == "rights" else ["start"])


@pytest.mark.parametrize("name", script_names())
def test_a_script_that_adds_nothing_is_served_by_a_full_server(name: str) -> None:
    """Only new jobs and new documents are refused when memory is full: all else ends work, or only reads."""
    flags = read(name).partition("\n")[0]

    assert ("allow-oom" in flags) == (name not in ("push", "claims", "settle_follow", "board_write"))


@pytest.mark.parametrize("name", script_names())
def test_keys_and_values_come_as_arguments(name: str) -> None:
    """S20: no text of a script is built."""
    text = script(name).text.decode()

    assert "%s" not in text
    assert "loadstring" not in text
    assert not re.search(r"^\s*--", text, re.MULTILINE)


@pytest.mark.parametrize("name", script_names())
def test_what_is_sent_has_every_function_that_it_calls_and_no_other(name: str) -> None:
    whole = "".join(map(read, [*(f"lib/{piece}" for piece in needs(name)), name]))
    sent = script(name).text.decode()

    ours = set(re.findall(r"^local function (\w+)\(", whole, re.MULTILINE))
    made = re.findall(r"^local function (\w+)\(", sent, re.MULTILINE)
    called = set(re.findall(r"\w+", re.sub(r"^local function \w+", "", sent, flags=re.MULTILINE)))
    assert sorted(made) == sorted(ours & called)


@pytest.mark.parametrize("name", script_names())
def test_what_is_sent_has_numbers_for_the_names_of_states_and_limits(name: str) -> None:
    sent = script(name).text.decode()

    names = [*State.__members__, "ERASED", "SUSPECT_AT", "MAX_HINT", "AGEING"]
    assert [each for each in names if re.search(rf"\b{each}\b", sent)] == []
    assert not re.search(r"^local \d", sent, re.MULTILINE)


def test_every_command_of_a_script_is_asked_for_at_the_start() -> None:
    """A script that is stopped in its middle by the access rules has written something."""
    texts = "\n".join(script(name).text.decode() for name in script_names())

    words = set(re.findall(r"'([A-Z]{2,})'", texts))

    assert words - {"EVAL", "LIMIT", "OK", "WITHSCORES"} <= set(COMMANDS)
    assert {"HSET", "PUBLISH", "TIME"} <= words


def test_no_script_fails_for_a_hint() -> None:
    """Hints come after the writes."""
    for name in script_names():
        assert "redis.call('PUBLISH'" not in script(name).text.decode(), name


def test_parts_of_a_head_stand_where_scripts_look_for_them() -> None:
    """Those who read or write only a part of a head say where it begins."""
    [(names, values)] = re.findall(
        r"^local (KEYED_AT, [A-Z_, ]+) = ([\d, ]+)$", read("lib/heads"), re.MULTILINE
    )
    places = dict(zip(names.split(", "), (int(value) - 1 for value in values.split(", ")), strict=True))
    packed = heads.pack(heads.Head(keyed=77, starts=78, due=79.5, keep=80.5, session="81"))

    assert places == {
        "KEYED_AT": packed.index(77),
        "STARTS_AT": packed.index(78),
        "DUE_AT": packed.index(struct.pack("<d", 79.5)),
        "KEEP_AT": packed.index(struct.pack("<d", 80.5)),
        "TEXTS_AT": packed.index(b"81"),
    }


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_says_what_it_gives(piece: str) -> None:
    assert "-- Gives: " in read(f"lib/{piece}")


def test_the_limits_are_those_of_the_model() -> None:
    assert number("lib/heads", "SUSPECT_AT") == SUSPECT_AT
    assert number("lib/places", "MAX_HINT") == MAX_HINT
    assert number("lib/places", "AGEING") == AGEING * 1000
    assert number("lib/refill", "WINDOW") == WINDOW


def test_the_states_are_those_of_the_model() -> None:
    text = read("lib/heads")
    there = {}
    for names, values in re.findall(r"^local ([A-Z, ]+) = ([\d, ]+)$", text, re.MULTILINE):
        there |= dict(zip(names.split(", "), map(int, values.split(", ")), strict=True))

    assert {name: there[name] for name in State.__members__} == {each.name: int(each) for each in State}
    assert there["ERASED"] == heads.ERASED


def test_a_head_is_read_as_it_was_written() -> None:
    head = heads.Head(
        state=3, lane=2, dead=1, cancelling=1, keyed=1, taken=1, starts=7, version=9, began=1.0, due=-5.0,
        rank=2.0**53, created=3.0, keep=0.0, priority=-9, attempts=1 << 31, crash_budget=2, spent=3, crashes=4,
        releases=5, snoozes=6, session="123", queue="mail", task="send", reply="reply:é", unique="k", correlation="c",
        tie="5\ttunnel\thost\texample.org",
    )  # fmt: skip

    assert heads.unpack(heads.pack(head)) == head


def test_due_stands_where_the_counts_look_for_it() -> None:
    at = number("counts", "DUE_AT") - 1
    packed = heads.pack(heads.Head(due=42.5))

    assert packed[at : at + 8] == heads.pack(heads.Head(due=42.5, rank=1.0))[at : at + 8]
    assert packed[at : at + 8] != heads.pack(heads.Head(due=43.5))[at : at + 8]


def test_a_text_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        heads.pack(heads.Head(queue="a\0b"))
