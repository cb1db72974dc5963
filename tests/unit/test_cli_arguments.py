"""Arguments from words are read by the task's own types, and examples fit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest

from noria.app.binding import Binding
from noria.app.signature import Signature, read_signature
from noria.cli.arguments import example, from_json, from_words
from noria.errors import InvalidArguments, InvalidInput


@dataclass
class Order:
    number: int
    note: str = ""


class Color(Enum):
    RED = "red"


async def many(
    n: int, s: str, f: float = 0, b: bool = False, o: int | None = None, t: str | int = "",
    xs: list[int] | None = None, order: Order | None = None, when: datetime | None = None,
    price: Decimal | None = None, raw: bytes = b"",
    any_: Any = None, color: Color = Color.RED, word: Literal["x", "y"] = "x",
) -> None: ...  # fmt: skip


MANY = read_signature(many, "many")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("n=3", 3), ("n=-3", -3), ("s=3", "3"), ("s=", ""), ("s=a=b", "a=b"), ("s=null", "null"),
        ("s=[1]", "[1]"),
        ("f=1.5", 1.5), ("f=2", 2.0), ("b=true", True), ("b=false", False), ("o=null", None), ("o=4", 4),
        ("t=5", "5"), ("xs=[1,2]", [1, 2]), ("xs=null", None), ('order={"number": 7}', Order(7)),
        ("when=2026-11-30T08:00:00Z", datetime(2026, 11, 30, 8, tzinfo=UTC)), ("price=9.99", Decimal("9.99")),
        ("raw=aGk=", b"hi"), ("any_=3", 3), ("any_=hello", "hello"), ('any_={"a": 1}', {"a": 1}),
        ("color=red", Color.RED), ("word=y", "y"),
    ],
)  # fmt: skip
def test_words_become_values_of_the_parameters_types(word: str, value: Any) -> None:
    name = word.partition("=")[0]
    assert from_words(MANY, [word]) == {name: value}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["n=x"], "n='x' does not fit its type, int"),
        (["n=1.5"], "int"),
        (["xs=[1,"], "list"),
        (['order={"nummer": 7}'], "Order"),
        (["word=z"], "'z'"),
        (["m=1"], "no parameter 'm'"),
        (["n"], "name=value"),
        (["=1"], "name=value"),
        (["n=1", "n=2"], "twice"),
    ],
)
def test_words_that_do_not_fit_are_told(words: list[str], told: str) -> None:
    with pytest.raises(InvalidArguments, match=told):
        from_words(MANY, words)


@pytest.mark.parametrize("text", ['{"x":1,"x":2}', '[{"a":{"x":1,"y":2,"x":1}}]'])
def test_a_name_is_given_once_in_json_too(text: str) -> None:
    with pytest.raises(InvalidInput, match="'x' is given twice in one object"):
        from_json(text)
    with pytest.raises(InvalidInput, match="'x' is given twice in one object"):
        from_words(MANY, [f"any_={text}"])
    assert from_words(MANY, [f"s={text}"]) == {"s": text}


def test_json_is_by_name_or_by_position() -> None:
    assert from_json('{"a": 1}') == ((), {"a": 1})
    assert from_json("[1, 2]") == ((1, 2), {})
    for text in ("3", '"a"', "{", "", "null", "\ud800"):
        with pytest.raises(InvalidInput):
            from_json(text)


async def none() -> int: ...
async def two(a: int, b: str, c: float = 1) -> int: ...
async def rich(
    a: bool, b: list[str], c: dict[str, int], d: UUID, e: datetime, g: Color, h: Literal["q"], i: int | None
) -> None: ...
async def loose(a, b: Any): ...  # type: ignore[no-untyped-def]  # the point of this test
async def bytes_(a: bytes, b: set[int], c: tuple[int, ...], d: Decimal) -> None: ...


@pytest.mark.parametrize("function", [none, two, rich, loose, bytes_])
def test_an_example_is_accepted_by_its_task(function: Callable[..., Any]) -> None:
    signature = read_signature(function, "t")
    words = example(signature)
    assert words is not None
    Binding("t", signature).pack((), from_words(signature, words))


async def custom(order: Order) -> None: ...


def test_no_example_is_invented_for_types_of_the_user() -> None:
    assert example(read_signature(custom, "t")) is None


def test_examples_name_only_what_must_be_given() -> None:
    signature: Signature = read_signature(two, "t")
    assert example(signature) == ["a=3", "b=hello"]
