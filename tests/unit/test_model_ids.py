"""Ids that are unique, ordered as jobs were enqueued, and readable by others as UUIDs."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.errors import InvalidInput
from noria.ids import Id, IdSource, from_text, jitter_source, system_entropy, to_text


class SteppedClock:
    """A clock that shows the given times in turn, then the last one for ever."""

    def __init__(self, *times: float) -> None:
        self._times: Iterator[float] = iter(times)
        self._now = 0.0

    def wall(self) -> float:
        self._now = next(self._times, self._now)
        return self._now

    def monotonic(self) -> float:
        return self._now


times = st.floats(0, 200_000_000_000).map(lambda seconds: round(seconds, 3))


@given(steps=st.lists(times, min_size=2, max_size=50))
def test_ids_rise_however_the_clock_moves(steps: list[float]) -> None:
    source = IdSource(SteppedClock(*steps))

    ids = [source.next() for _ in steps]

    assert sorted(set(ids)) == ids


@given(now=times)
def test_an_id_is_a_uuid_of_version_seven_with_its_time(now: float) -> None:
    value = uuid.UUID(bytes=IdSource(SteppedClock(now)).next())

    assert value.version == 7
    assert value.variant == uuid.RFC_4122
    assert value.int >> 80 == int(now * 1000)


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_extreme_entropy_keeps_the_form_and_the_order(byte: bytes) -> None:
    source = IdSource(SteppedClock(1000.0), lambda size: byte * size)

    ids = [source.next() for _ in range(5_000)]

    assert sorted(set(ids)) == ids
    assert {uuid.UUID(bytes=each).version for each in ids} == {7}
    assert {uuid.UUID(bytes=each).int >> 80 for each in ids} == {1_000_000}


def test_two_sources_at_one_instant_never_give_the_same_id() -> None:
    first, second = IdSource(SteppedClock(5.0)), IdSource(SteppedClock(5.0))

    ids = [source.next() for _ in range(20_000) for source in (first, second)]

    assert len(set(ids)) == len(ids)


def test_threads_share_a_source_without_repeats() -> None:
    source = IdSource(SteppedClock(5.0))
    given_out: list[list[Id]] = [[] for _ in range(4)]

    def take(into: list[Id]) -> None:
        into.extend(source.next() for _ in range(2_000))

    threads = [threading.Thread(target=take, args=(into,)) for into in given_out]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(sorted(each) == each for each in given_out)
    assert len({id for each in given_out for id in each}) == 8_000


@given(raw=st.binary(min_size=16, max_size=16))
def test_an_id_is_read_back_from_its_text(raw: bytes) -> None:
    assert from_text(to_text(Id(raw))) == raw


@given(text=st.text())
def test_any_text_is_an_id_or_a_clear_refusal(text: str) -> None:
    try:
        id = from_text(text)
    except InvalidInput as error:
        assert error.field == "id"
        assert len(str(error)) < 200
    else:
        assert len(id) == 16


@pytest.mark.parametrize("value", [None, 7, b"", b"0" * 16, "", "0" * 31, "{}", "../x"], ids=ascii)
def test_what_is_no_uuid_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        from_text(value)


def test_sessions_are_positive_and_fit_a_signed_integer() -> None:
    extremes = [IdSource(SteppedClock(1.0), lambda size, b=b: b * size).session() for b in (b"\x00", b"\xff")]
    drawn = [IdSource(SteppedClock(1.0)).session() for _ in range(1_000)]

    assert all(0 < session < 2**63 for session in [*extremes, *drawn])
    assert len(set(drawn)) == 1_000


def test_jitter_is_repeatable_from_its_entropy() -> None:
    first = jitter_source(lambda size: b"7" * size)
    second = jitter_source(lambda size: b"7" * size)

    assert [first.random() for _ in range(5)] == [second.random() for _ in range(5)]
    assert len(system_entropy(16)) == 16


@pytest.mark.parametrize(
    "text", ["{01a22b90-053a-75dd-8784-88a139081331}", "01a22b90_053a_75dd_8784_88a139081331"]
)
def test_an_id_is_read_only_in_the_form_in_which_ids_are_written(text: str) -> None:
    with pytest.raises(InvalidInput):
        from_text(text)


_FORKS = """
import os, sys
from noria.ids import IdSource

class Still:
    def wall(self):
        return 1_800_000_000.0

source = IdSource(Still())
source.next()
for _ in range(2):
    if os.fork() == 0:
        os.write(1, b"".join(source.next().hex().encode() + b"\\n" for _ in range(50)))
        os._exit(0)
for _ in range(2):
    os.wait()
os.write(1, b"".join(source.next().hex().encode() + b"\\n" for _ in range(50)))
"""


def test_children_forked_at_once_and_their_parent_share_no_id() -> None:
    """As servers do that load the application first and fork afterwards; the clock shows all of them the same time."""
    done = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=60, check=True
    )

    ids = done.stdout.split()
    assert (len(ids), len(set(ids))) == (150, 150)
