"""The log is one safe line a record, and a reader that does not read stops nobody. Answers R4 and S16."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from noria.cli import logs
from noria.cli.writer import LineWriter


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    near, far = os.pipe()
    try:
        yield near, far
    finally:
        for file in (near, far):
            with suppress(OSError):
                os.close(file)


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    before = logger.handlers[:], logger.level
    yield logger
    logging.captureWarnings(False)
    logger.handlers[:], logger.level = before[0], before[1]


def read_all(near: int) -> str:
    with os.fdopen(os.dup(near), encoding="utf-8") as file:
        return file.read()


def test_lines_are_written_in_order() -> None:
    with pipe() as (near, far):
        writer = LineWriter(far)
        for number in range(1_000):
            writer.write(f"line {number}")
        assert writer.close(10)
        os.close(far)
        assert read_all(near).splitlines() == [f"line {number}" for number in range(1_000)]
        assert writer.dropped == 0


def test_a_pipe_that_nobody_reads_blocks_nobody() -> None:
    with pipe() as (near, far):
        writer = LineWriter(far, capacity=100)
        began = time.monotonic()
        for number in range(20_000):
            writer.write(f"line {number:06} " + "x" * 100)
        assert time.monotonic() - began < 5
        assert writer.dropped > 15_000

        # When somebody reads at last, the gap is told, and nothing else is lost.
        got: list[str] = []
        reader = threading.Thread(target=lambda: got.extend(read_all(near).splitlines()), daemon=True)
        reader.start()
        deadline = time.monotonic() + 20
        while not any("were dropped" in line for line in got) and time.monotonic() < deadline:
            writer.write("after")
            if writer._missed == 0:
                break
        assert writer.close(10)
        os.close(far)
        reader.join(10)
        assert any("dropped here: " in line for line in got)
        assert got[-1] == "after"


def test_closing_is_bounded_although_nobody_reads() -> None:
    with pipe() as (_, far):
        writer = LineWriter(far, capacity=5_000)
        for _ in range(5_000):
            writer.write("x" * 100)
        assert not writer.close(0.05)


def test_a_reader_that_has_gone_is_no_error() -> None:
    with pipe() as (near, far):
        os.close(near)
        writer = LineWriter(far)
        writer.write("x")
        assert writer.close(10)


def set_up_and_log(root: logging.Logger, format: logs.Format, level: int = logging.INFO) -> list[str]:
    with pipe() as (near, far):
        handler = logs.set_up(format, level=level, file=far)
        log = logging.getLogger("shop")
        log.info("hello %s", "wor\x1b[31m\nld\u202e")
        log.debug("too much")
        log.error("to redis://me:geheim@host/0", exc_info=ValueError("bad\nvalue postgresql://a:geheim@h/d"))
        log.warning("%d jobs", "x")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        logs.flush(handler)
        os.close(far)
        return read_all(near).splitlines()


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_text_has_one_safe_line_a_record(root: logging.Logger) -> None:
    lines = set_up_and_log(root, "text")
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    assert "INFO shop: hello wor\\x1b[31m\\nld\\u202e" in lines[0]
    assert "ERROR shop: to redis://***@host/0\\nValueError: bad\\nvalue" in lines[1]
    assert "its arguments do not fit" in lines[2]
    assert "py.warnings" in lines[3]
    assert not any("geheim" in line for line in lines)


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_json_has_one_object_a_record(root: logging.Logger) -> None:
    lines = set_up_and_log(root, "json")
    records = [json.loads(line) for line in lines]
    assert [record["level"] for record in records] == ["info", "error", "warning", "warning"]
    assert records[0]["message"] == "hello wor\\x1b[31m\nld\\u202e"
    assert records[1]["traceback"].startswith("ValueError: bad\nvalue")
    assert all(line.isprintable() and "geheim" not in line for line in lines)


def test_how_much_is_logged() -> None:
    assert logs.level(verbose=True, quiet=True) == logging.DEBUG
    assert logs.level(verbose=False, quiet=True) == logging.WARNING
    assert logs.level(verbose=False, quiet=False) == logging.INFO


def test_an_object_that_cannot_be_shown_breaks_nobody(root: logging.Logger) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

        __repr__ = __str__

    with pipe() as (near, far):
        handler = logs.set_up("text", level=logging.INFO, file=far)
        logging.getLogger("shop").info(Odd())
        logs.flush(handler)
        os.close(far)
        assert "cannot be shown" in read_all(near)
