"""Exceptions as text, whatever they are made of: `describe` never raises, and what it gives can be stored."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from noria.model.limits import MAX_MESSAGE, MAX_TRACEBACK
from noria.worker.describe import describe


class Needy(Exception):
    def __init__(self, a: int, b: int, *, c: int) -> None:
        super().__init__(a, b)


class Locked(Exception):
    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Numeric(Exception):
    def __str__(self) -> Any:
        return 5


class Sly(str):
    def encode(self, *args: Any) -> Any:
        raise RuntimeError("no bytes")

    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError("no letters")

    def replace(self, *args: Any) -> Any:
        raise RuntimeError("no change")


class Texty(Exception):
    def __str__(self) -> str:
        return Sly("a text of its own kind")


class Meta(type):
    @property
    def __module__(cls) -> Any:  # type: ignore[override]  # the point of this test
        raise RuntimeError("no module")


class Homeless(Exception, metaclass=Meta):
    pass


class Nowhere(Exception):
    pass


Nowhere.__module__ = None  # type: ignore[assignment]  # such classes exist


class Chained(Exception):
    @property
    def __cause__(self) -> Any:  # type: ignore[override]  # the point of this test
        raise SystemExit(1)


class Pretender(Exception):
    @property
    def __class__(self) -> Any:  # type: ignore[override]  # the point of this test
        raise RuntimeError("no class")


def cyclic() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def deep() -> Exception:
    error = ValueError("0")
    for n in range(1, 3_000):
        outer = ValueError(str(n))
        outer.__context__ = error
        error = outer
    return error


def recursive() -> BaseException:
    def again(n: int) -> int:
        return again(n + 1) + 1

    try:
        again(0)
    except RecursionError as error:
        return error
    raise AssertionError


ODD = {
    "needy": lambda: Needy(1, 2, c=3), "locked": Locked, "mute": Mute, "leaving": Leaving, "numeric": Numeric,
    "texty": Texty, "homeless": Homeless, "nowhere": Nowhere, "chained": Chained, "pretender": Pretender,
    "cyclic": cyclic, "deep": deep, "recursive": recursive, "exit": SystemExit, "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit, "stop": lambda: StopIteration(5), "key": lambda: KeyError("k"),
    "group": lambda: ExceptionGroup("many", [ValueError(n) for n in range(1_000)]),
    "bytes": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    "file": lambda: OSError(2, "gone", "/tmp/\udcff"), "many": lambda: Exception(*range(1_000)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_every_exception_can_be_described(kind: str) -> None:
    try:
        raise ODD[kind]()
    except BaseException as caught:
        failure = describe(caught)
    for text in (failure.message, failure.type, failure.traceback):
        assert type(text) is str
        text.encode()
        assert "\0" not in text
    assert failure.reason == "exception"
    assert len(failure.message) <= MAX_MESSAGE
    assert len(failure.traceback) <= MAX_TRACEBACK
    assert failure.type


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("a\0b", "a\\x00b"),
        ("\ud800 \udfff", "\\ud800 \\udfff"),
        ("line\nline", "line\nline"),
        ("\x1b[31mred", "\x1b[31mred"),
        ("\u2028 \U0010ffff é", "\u2028 \U0010ffff é"),
        ("", ""),
    ],
)
def test_a_message_is_kept_as_far_as_it_can_be_stored(message: str, kept: str) -> None:
    assert describe(ValueError(message)).message == kept


@pytest.mark.parametrize("letter", ["x", "é", "\ud800", "\0", "\n"])
def test_a_huge_message_is_cut_and_leaves_the_frames(letter: str) -> None:
    try:
        raise ValueError(letter * 5_000_000)
    except ValueError as error:
        failure = describe(error)
    assert len(failure.message) == MAX_MESSAGE
    assert len(failure.traceback) <= MAX_TRACEBACK
    assert "test_a_huge_message_is_cut" in failure.traceback


def test_the_end_of_a_long_traceback_is_kept() -> None:
    def climb(n: int) -> None:
        if n:
            (climb if n % 2 else lambda m: climb(m))(n - 1)
        raise ValueError("the end")

    try:
        climb(300)
    except ValueError as error:
        failure = describe(error)
    assert failure.traceback.rstrip().endswith("ValueError: the end")
    assert len(failure.traceback) <= MAX_TRACEBACK


def test_names_of_builtins_are_short_and_others_qualified() -> None:
    assert describe(ValueError("x")).type == "ValueError"
    assert describe(Needy(1, 2, c=3)).type == f"{__name__}.Needy"
