"""Arguments on their way: bound as Python binds them, checked as the worker will, named if wrong."""

from __future__ import annotations

import datetime
import inspect
import math
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria import InvalidArguments, InvalidResult, Noria, ResultTooLarge, TooLarge

SENTINEL = object()

app = Noria()


@dataclass
class Item:
    price: float


@dataclass
class Order:
    items: list[Item]


@app.task
async def send_mail(to: str, subject: str, n: int = 1) -> str:
    return to


@app.task
def mixed(a: int, /, b: str = "b", c: Any = SENTINEL, *, d: float, e: list[int] = []) -> Any:  # noqa: B006 - never changed
    return None


@app.task
def optional(a: int = 1, b: int = 2, /, c: int = 3) -> None: ...


@app.task
def buy(order: Order) -> None: ...


@app.task
def order_of() -> Order:
    return Order([])


@app.task
def anything(value: Any = None) -> Any:
    return value


def through(task: Any, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return task.definition.unpack(task.job(*args, **kwargs).new.body, "json")


def refusal(task: Any, *args: Any, **kwargs: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        task.job(*args, **kwargs)
    return caught.value


@given(st.data())
def test_a_call_is_bound_as_python_binds_it(data: st.DataObject) -> None:
    """Positional, named or mixed: the function gets what a direct call would give it."""
    values = {"a": 7, "b": "x", "c": [1], "d": 1.5, "e": [2, 3]}
    count = data.draw(st.integers(1, 3))
    named = data.draw(st.sets(st.sampled_from(["b", "c", "e"][max(count - 1, 0) :] or ["e"])))
    args = tuple(values[name] for name in "abc"[:count])
    kwargs = {name: values[name] for name in named if name not in "abc"[:count]} | {"d": 1.5}

    expected = inspect.signature(mixed.function).bind(*args, **kwargs)
    expected.apply_defaults()
    got = inspect.signature(mixed.function).bind(
        *through(mixed, *args, **kwargs)[0], **through(mixed, *args, **kwargs)[1]
    )
    assert got.arguments == expected.arguments


def test_defaults_are_the_functions_own_and_need_not_be_storable() -> None:
    assert mixed.job(1, d=2).new.body == b'{"a":1,"d":2}'
    assert through(mixed, 1, d=2) == ((1, "b", SENTINEL), {"d": 2.0, "e": []})
    assert through(optional) == ((1, 2, 3), {})
    assert through(optional, c=9) == ((1, 2, 9), {})


@pytest.mark.parametrize(
    ("args", "kwargs", "field", "words"),
    [
        ((1, "x"), {}, "to", "to: expected str, got int"),
        ((b"a", "x"), {}, "to", "to: expected str, got bytes"),
        (
            ("x", "y"),
            {"n": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)},
            "n",
            "n: expected int, got datetime",
        ),
        (
            ("x",),
            {},
            "subject",
            r"missing required argument 'subject'; it takes \(to: str, subject: str, n: int = 1\)",
        ),
        (("x", "y", 1, 2), {}, "", "extra positional arguments"),
        (("x", "y"), {"copies": 1}, "copies", "unexpected keyword argument 'copies'"),
        (("x", "y"), {"to": "z"}, "to", "given by name and position"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args: Any, kwargs: Any, field: str, words: str) -> None:
    error = refusal(send_mail, *args, **kwargs)
    assert error.field == field
    assert re.search(words, str(error))
    assert "send_mail" in str(error)


def test_a_wrong_part_is_named_by_its_path() -> None:
    error = refusal(buy, Order([Item("s3cret")]))
    assert error.field == "order.items[0].price"
    assert str(error) == "task 'buy': order.items[0].price: expected float, got str"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "NaN or infinity"),
        ([1.0, math.inf], "NaN or infinity"),
        (object(), "cannot be written as JSON"),
        ("\udfff", "lone surrogate"),
        ({1: 2, "1": 3}, "same text in JSON"),
    ],
    ids=["nan", "infinity", "object", "surrogate", "keys"],
)
def test_arguments_that_cannot_be_stored_are_named(value: object, words: str) -> None:
    error = refusal(anything, value)
    assert (error.field, words in str(error)) == ("value", True)


def test_arguments_that_contain_themselves_are_refused() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    assert "contains itself" in str(refusal(anything, loop))


@pytest.mark.parametrize("value", ["x" * 2_000_000, [[[[]] * 70] for _ in range(70)]], ids=["long", "wide"])
def test_size_is_limited(value: Any) -> None:
    if isinstance(value, str):
        with pytest.raises(TooLarge, match="value is 2,000,002 bytes") as caught:
            anything.job(value)
        assert caught.value.field == "value"
    else:
        anything.job(value)


def test_depth_is_limited() -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    with pytest.raises(TooLarge, match="value is nested more than 64 levels deep"):
        anything.job(deep)


@given(
    st.binary(max_size=100) | st.text('[]{}":,tosubject1', max_size=60).map(str.encode),
    st.sampled_from(["json", "x"]),
)
def test_a_hostile_body_is_refused_as_invalid_arguments(body: bytes, codec: str) -> None:
    with pytest.raises(InvalidArguments):
        send_mail.definition.unpack(body, codec)


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(InvalidArguments, match="64 levels"):
        anything.definition.unpack(b'{"value":' + b"[" * 1_000_000, "json")
    with pytest.raises(InvalidArguments, match="at most"):
        anything.definition.unpack(b" " * 2_000_000, "json")


def test_an_argument_that_the_task_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidArguments) as caught:
        send_mail.definition.unpack(b'{"to":"a","subject":"b","cc":"c"}', "json")
    assert caught.value.field == "cc"


def test_results_are_encoded_or_refused_in_words() -> None:
    pack = anything.definition.pack_result
    assert pack({"a": (1, None)}) == (b'{"a":[1,null]}', "json")
    with pytest.raises(ResultTooLarge, match=r"result of task 'anything' is 2,000,002 bytes"):
        pack("x" * 2_000_000)
    with pytest.raises(InvalidResult, match="result of task 'anything' cannot be written"):
        pack(object())
    with pytest.raises(InvalidResult, match="NaN"):
        pack([math.nan])
    with pytest.raises(InvalidResult, match="same text in JSON"):
        pack({1: 2, "1": 3})
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidResult, match="contains itself"):
        pack(loop)
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    with pytest.raises(ResultTooLarge, match="64 levels"):
        pack(deep)


@pytest.mark.parametrize(
    ("task", "value", "words"),
    [
        (send_mail, 7, "the result: expected str, got int"),
        (send_mail, b"text", "the result: expected str, got bytes"),
        (send_mail, datetime.date(2026, 1, 1), "the result: expected str, got date"),
        (optional, 3, "the result: expected null, got int"),
        (order_of, {"items": [{"price": "x"}]}, r"items\[0\].price: expected float, got str"),
    ],
)
def test_a_result_is_what_the_annotation_says(task: Any, value: Any, words: str) -> None:
    with pytest.raises(InvalidResult, match=f"task '{task.name}' does not return what its .*: {words}"):
        task.definition.pack_result(value)


def test_a_result_that_fits_is_encoded() -> None:
    assert send_mail.definition.pack_result("a") == (b'"a"', "json")
    assert optional.definition.pack_result(None) == (b"null", "json")
    assert order_of.definition.pack_result(Order([Item(1.5)])) == (b'{"items":[{"price":1.5}]}', "json")
    assert anything.definition.pack_result({"a": 1}) == (b'{"a":1}', "json")
