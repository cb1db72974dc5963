"""S1: bytes from anywhere are judged, never run, and never end anything but themselves."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import pickle
import resource
import time
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria import InvalidArguments, JobFailed, Noria
from noria.app.binding import decode_anything
from noria.codecs import Misfit
from noria.model.limits import MAX_BODY
from noria.worker import tether
from noria.worker.journal import FileJournals
from noria.worker.wire import MAX_FRAME, Frames, WireError, from_process, from_worker
from tests.support.workplace import Workplace, in_virtual_time


class Bomb:
    """What a pickle of it would do when it is loaded."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/noria-was-here",)


@dataclass
class Order:
    id: UUID
    price: Decimal
    when: datetime
    note: str | None = None


app = Noria()


@app.task
async def typed(order: Order, lines: list[dict[str, int]], blob: bytes, ratio: float) -> Order:
    return order


@app.task
async def free(value: Any) -> Any:
    return value


CORPUS: list[bytes] = [
    b"", b" ", b"\0", b"\xff" * 100, b"null", b"true", b"nul", b"NaN", b"-Infinity", b"1e999", b"-", b"0x10", b"'a'",
    b'"\\ud800"', b'"\\udc00\\ud800"', b'"' + b"\xed\xa0\x80" + b'"', b'"\\', b'"\\u', b'"\\u12', b'"\n"',
    b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b'{"value":' + b"[" * 63 + b"]" * 63 + b"}", b'{"value":' + b"[" * 64 + b"]" * 64 + b"}",
    b'{"value":"' + b"[" * 500_000 + b'"}', b'{"value":"' + b"\\" * 500_000, b'{"value":"' + b'\\"' * 400_000,
    b'{"value":' + b"9" * 500_000 + b"}", b'{"value":1' + b"0" * 4_400 + b"}", b'{"value":1e' + b"9" * 100_000 + b"}",
    b'{"value":0.' + b"1" * 500_000 + b"}", b'{"value":1,"value":2}', b"{" + b'"a":1,' * 100_000 + b'"value":1}',
    b'{"' + b"k" * 900_000 + b'":1}', b'{"value":1}garbage', b'{"value":1}\0', b"\xef\xbb\xbf" + b'{"value":1}',
    '{"value":1}'.encode("utf-16"), b'{"__reduce__":"os.system"}', b'{"py/object":"os.system","value":1}',
    b'{"value":{"$type":"System.Diagnostics.Process"}}', b'!!python/object/apply:os.system ["true"]',
    b"cos\nsystem\n(S'true'\ntR.", pickle.dumps(Bomb()), base64.b64encode(pickle.dumps(Bomb())),
    b"PK\x03\x04", b"\x1f\x8b",
    b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", b"x" * (MAX_BODY + 1),
    b'{"order":{"id":"x"},"lines":[],"blob":"","ratio":1}', b'{"order":[],"lines":{},"blob":1,"ratio":"1"}',
    b'{"order":{"id":"0190a0a0-0000-7000-8000-000000000000","price":"1e999999999","when":"2030-01-01T00:00:00Z"},'
    b'"lines":[],"blob":"","ratio":1}',
    b'{"order":{"id":"0190a0a0-0000-7000-8000-000000000000","price":"NaN","when":"0000-00-00T99:99:99Z"},'
    b'"lines":[{"a":1e400}],"blob":"***","ratio":1e400}',
]  # fmt: skip


@pytest.mark.parametrize("which", range(len(CORPUS)))
def test_hostile_bodies_are_refused_quickly_or_are_values(which: int) -> None:
    body = CORPUS[which]
    for task in (typed, free):
        for codec in ("json", "msgpack", "pickle", "yaml", "", "../json", "\0", "__import__", "JSON"):
            began = time.process_time()
            try:
                task.definition.unpack(body, codec)
            except InvalidArguments as error:
                text = str(error)
                assert text.isprintable()
                assert len(text) < 500
            assert time.process_time() - began < 2
    for codec in ("json", "pickle"):
        try:
            decode_anything(body, codec)
        except Misfit as misfit:
            assert misfit.words.isprintable()
    assert not Path("/tmp/noria-was-here").exists()


@given(
    st.binary(max_size=300) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_random_bytes_are_refused_or_are_values(body: bytes) -> None:
    for task in (typed, free):
        with contextlib.suppress(InvalidArguments):
            task.definition.unpack(body, "json")


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=20
)


@given(trees)
def test_any_json_value_comes_back_or_is_refused(value: Any) -> None:
    try:
        body = free.job(value).new.body
    except InvalidArguments as error:
        assert error.field == "value"
        return
    (back,), _ = free.definition.unpack(body, "json")
    assert msgspec.json.encode(back) == msgspec.json.encode(value)


def test_a_body_of_the_greatest_size_costs_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for body in (b'{"value":[' + b"{}," * 340_000 + b"{}]}", b'{"value":"' + b"\\n" * 500_000 + b'"}'):
        assert len(body) <= MAX_BODY
        free.definition.unpack(body, "json")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


@pytest.mark.parametrize("which", range(len(CORPUS)))
def test_hostile_journals_are_dropped(which: int, tmp_path: Path) -> None:
    journals = FileJournals(tmp_path / "j", "here")
    for head in (b"", b"noria-run-1\0"):
        (tmp_path / "j" / "00.run").write_bytes(head + CORPUS[which][:100_000])
        with journals.remains() as found:
            assert found == []


@in_virtual_time
async def test_an_exception_is_never_rebuilt_from_what_was_stored() -> None:
    """S1, D7: text from a store stays text, whatever name it bears."""
    async with Workplace() as place:

        class Forged(Exception):
            def __init__(self) -> None:
                raise AssertionError("rebuilt")

        Forged.__module__, Forged.__qualname__ = "os", "system"

        @place.app.task(attempts=1)
        async def work() -> None:
            raise Forged.__new__(Forged, "touch /tmp/noria-was-here")

        await place.hire()
        with pytest.raises(JobFailed) as caught:
            await (await work.enqueue()).result(10)
        assert caught.value.type == "os.system"
        assert caught.value.__cause__ is None
        assert not Path("/tmp/noria-was-here").exists()


@in_virtual_time
async def test_hints_of_strangers_are_taken_for_nothing() -> None:
    """Anybody who may write to a socket may send a hint; it must not be believed blindly, nor end a waiter."""
    async with Workplace() as place:

        @place.app.task
        async def work() -> int:
            await place.pass_by(3)
            return 5

        await place.hire()
        job = await work.enqueue()

        waiting = asyncio.ensure_future(job.result(60))
        await place.pass_by(0.5)
        for payload in [
            *CORPUS,
            b'[["zz",10]]',
            b'[["",10]]',
            b'[["' + b"0" * 31 + b'",10]]',
            b'[["00",99]]',
            b"[[]]",
            b"[5]",
        ]:
            await place.store.notify(place.store.reply_channel, payload[:4_096])
        assert await waiting == 5


# ---- what a worker, its processes and its supervisor say to each other


def read_all(data: bytes) -> None:
    """Read a stream as each side of a line would; it is read, or refused as a whole."""
    for read in (from_worker, from_process, tether._read):
        for stream in (data, len(data).to_bytes(4, "big") + data):
            with contextlib.suppress(WireError):
                for each in Frames().feed(stream):
                    read(each)


@pytest.mark.parametrize("which", range(len(CORPUS)))
def test_hostile_frames_are_refused(which: int) -> None:
    read_all(CORPUS[which])
    assert not Path("/tmp/noria-was-here").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * 100_000,
        b"\x82\xa4type\xa5Ready\xa1a" + b"\x91" * 100_000 + b"\xc0",
        b"\x82\xa4type\xa6Logged\xa7message" + b"\xdb\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\x81\xa4type\xa7unknown",
        b"\x82\xa4type\xa5Ready\xa1a\xa2\xed\xa0",
        b"\xc7\xff\x01" + b"x" * 300,
    ],
)
def test_hostile_message_pack_is_refused(data: bytes) -> None:
    read_all(data)


@given(st.binary(max_size=300))
def test_random_frames_are_refused(data: bytes) -> None:
    read_all(data)


def test_a_frame_that_is_too_large_is_refused_before_it_has_come() -> None:
    with pytest.raises(WireError, match="are allowed"):
        list(Frames().feed((MAX_FRAME + 1).to_bytes(4, "big")))
