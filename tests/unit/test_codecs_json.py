"""JSON bodies: what goes in comes out, and nothing that comes in can harm."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
import uuid
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.codecs import DEFAULT, Misfit, Oversize, find_codec
from noria.codecs.depth import deeper_than
from noria.codecs.json import _loses_keys
from noria.model.limits import MAX_BODY, MAX_DEPTH

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Item:
    name: str
    price: Decimal
    parts: list[Item] = dataclasses.field(default_factory=list)


class Point(msgspec.Struct):
    x: float
    y: float


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class Wrapped(msgspec.Struct):
    inner: Any


class Model(pydantic.BaseModel):
    n: int = pydantic.Field(alias="N")
    when: datetime.datetime | None = None


class Picky(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def small(cls, n: int) -> int:
        if n > 9:
            raise ValueError(f"{n} is too large")
        return n


@dataclasses.dataclass
class Fussy:
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise KeyError(f"{self.n} is negative")
        if self.n > 9:
            raise ValueError(f"{self.n} is too large")


def through(value: object, shape: Any = Any) -> Any:
    return DEFAULT.decoder(shape, MAX_BODY)(DEFAULT.encode(value, MAX_BODY))


def refused(body: bytes, shape: Any) -> Misfit:
    with pytest.raises(Misfit) as caught:
        DEFAULT.decoder(shape, MAX_BODY)(body)
    return caught.value


@given(plain)
def test_what_json_can_say_comes_back_equal(value: object) -> None:
    assert through(value) == value


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        (bytes, st.binary()),
        (Decimal, st.decimals(allow_nan=False)),
        (uuid.UUID, st.uuids()),
        (datetime.datetime, st.datetimes(timezones=st.just(datetime.UTC)) | st.datetimes()),
        (datetime.date, st.dates()),
        (datetime.time, st.times()),
        (datetime.timedelta, st.timedeltas()),
        (Colour, st.sampled_from(Colour)),
        (dict[int, str], st.dictionaries(st.integers(), texts)),
        (tuple[int, str], st.tuples(st.integers(), texts)),
        (set[int], st.sets(st.integers())),
        (Item, st.builds(Item, texts, st.decimals(allow_nan=False), st.just([]))),
        (list[Point], st.lists(st.builds(Point, numbers, numbers))),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_typed_values_come_back_as_their_type(shape: Any, values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def check(value: object) -> None:
        found = through(value, shape)
        assert (found, type(found)) == (value, type(value))

    check()


def test_pydantic_models_travel_by_their_aliases() -> None:
    model = Model(N=3, when=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    assert DEFAULT.encode(model, MAX_BODY) == b'{"N":3,"when":"2026-01-02T00:00:00Z"}'
    assert through([model], list[Model]) == [model]


@pytest.mark.parametrize("integer", [2**64, -(2**63) - 1, 10**300])
def test_integers_beyond_64_bits_survive(integer: int) -> None:
    assert through(integer, int) == through(integer) == integer


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "wrap", [lambda n: n, lambda n: [1, (n,)], lambda n: {"a": {"b": n}}, lambda n: Point(n, 0)]
)
def test_nan_and_infinity_are_refused_wherever_they_are(number: float, wrap: Any) -> None:
    with pytest.raises(Misfit, match="NaN or infinity"):
        DEFAULT.encode([None, wrap(number)], MAX_BODY)


@pytest.mark.parametrize(
    "keys", [(1, "1"), (1.5, "1.5"), (Colour.RED, "red"), (uuid.UUID(int=1), str(uuid.UUID(int=1)))]
)
@pytest.mark.parametrize(
    "wrap",
    [lambda d: d, lambda d: [1, d], lambda d: {"a": {"b": d}}, lambda d: Wrapped(d), lambda d: ({}, (d,))],
)
def test_keys_that_are_one_in_json_are_refused_wherever_they_are(keys: tuple[Any, Any], wrap: Any) -> None:
    with pytest.raises(Misfit, match="same text in JSON"):
        DEFAULT.encode(wrap(dict.fromkeys(keys, 2)), MAX_BODY)


@pytest.mark.parametrize(
    "value",
    [
        {1: 2, 2: 3},
        {1: 2, "x": 3},
        {"1": {1: 2}},
        [{1: 2}, {"1": 2}],
        Wrapped({1: {1: 2}}),
        msgspec.Raw(b'{"a": 1}'),
    ],
)
def test_keys_that_stay_apart_are_written(value: Any) -> None:
    assert DEFAULT.encode(value, MAX_BODY)


@given(plain)
def test_no_plain_value_is_taken_for_one_that_loses_keys(value: Any) -> None:
    assert not _loses_keys(value, DEFAULT.encode(value, MAX_BODY))


def test_none_beside_numbers_is_no_nan() -> None:
    assert through([None, 1.5, {"a": None}]) == [None, 1.5, {"a": None}]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "values of type object"),
        ({"a": [open]}, "values of type builtin_function_or_method"),
        ("\ud800", "not valid Unicode"),
        (10**5000, "too many digits"),
    ],
    ids=["object", "function", "surrogate", "digits"],
)
def test_what_cannot_be_written_is_refused_in_words(value: object, words: str) -> None:
    with pytest.raises(Misfit, match=words):
        DEFAULT.encode(value, MAX_BODY)


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(Misfit, match="contains itself"):
        DEFAULT.encode(loop, MAX_BODY)


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def test_depth_is_allowed_up_to_the_limit_and_no_further() -> None:
    assert through(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(Oversize, match="64 levels"):
        DEFAULT.encode(nested(MAX_DEPTH + 1), MAX_BODY)


@pytest.mark.parametrize("bomb", [b"[" * 500_000, b'{"a":' * 100_000, b'["]",' * 100_000, b"[" * 65 + b'"x'])
def test_deep_bodies_are_refused_before_they_are_decoded(bomb: bytes) -> None:
    assert isinstance(refused(bomb, Any), Oversize)


def test_hostile_strings_are_skipped_in_one_pass() -> None:
    """A pattern that goes back at each quote would take hours for this."""
    body = b"[" * MAX_DEPTH + b'"' + b'\\"' * 450_000
    assert refused(body + b"\\", Any).words == refused(body, Any).words == "as JSON ends too early"


def test_names_from_outside_are_bounded_and_printable() -> None:
    misfit = refused(msgspec.json.encode({"name": "x", "\x1b[2J\n" + "y" * 5_000: 1}), Strict)
    assert misfit.words == "is not known"
    assert misfit.path.startswith(r"\x1b[2J\nyyy")
    assert len(misfit.path) == 200


def test_size_is_allowed_up_to_the_limit_and_no_further() -> None:
    assert len(DEFAULT.encode("x" * 98, 100)) == 100
    with pytest.raises(Oversize, match="101 bytes"):
        DEFAULT.encode("x" * 99, 100)
    with pytest.raises(Oversize, match="101 bytes"):
        DEFAULT.decoder(str, 100)(b'"' + b"x" * 99 + b'"')


@given(plain, st.integers(0, 6))
def test_depth_is_what_a_parser_would_find(value: object, limit: int) -> None:
    assert deeper_than(DEFAULT.encode(value, MAX_BODY), limit) == (depth_of(value) > limit)


def depth_of(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(st.binary(max_size=200) | st.text('[]{}":\\,a1 \n', max_size=200).map(str.encode))
def test_no_bytes_raise_anything_but_a_misfit(body: bytes) -> None:
    for shape in (Any, Item, list[Model], dict[int, Colour]):
        try:
            DEFAULT.decoder(shape, MAX_BODY)(body)
        except Misfit as misfit:
            assert misfit.words


SHAPE = msgspec.defstruct(
    "Shape",
    [
        ("colour", Colour),
        ("word", Literal["a", "b"]),
        ("items", list[Item]),
        ("id", uuid.UUID),
        ("model", Picky),
        ("fussy", Fussy),
        ("count", dict[str, int]),
    ],
    forbid_unknown_fields=True,
)
GOOD: dict[str, Any] = {
    "colour": "red",
    "word": "a",
    "items": [],
    "id": str(uuid.UUID(int=1)),
    "model": {"n": 1},
    "fussy": {"n": 1},
    "count": {},
}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"colour": "s3cret"}, "colour"),
        ({"word": "s3cret"}, "word"),
        ({"items": [{"name": "s3cret", "price": "s3cret"}]}, "items[0].price"),
        ({"items": [{"price": "1", "name": 53}]}, "items[0].name"),
        ({"items": [{"price": "1"}]}, "items[0].name"),
        ({"id": "s3cret"}, "id"),
        ({"model": {"n": "s3cret"}}, "model.n"),
        ({"model": {"n": 531}}, "model.n"),
        ({"fussy": {"n": 531}}, "fussy"),
        ({"fussy": {"n": -531}}, ""),
        ({"count": {"x": "s3cret"}}, "count[...]"),
        ({"count": {"x": 1.5}}, "count[...]"),
    ],
)
def test_a_misfit_names_the_place_and_never_the_value(change: dict[str, Any], path: str) -> None:
    misfit = refused(msgspec.json.encode({**GOOD, **change}), SHAPE)
    assert misfit.path == path
    assert not any(value in misfit.words for value in ("s3cret", "53", "1.5"))


def test_a_misfit_tells_expected_and_given_types() -> None:
    assert refused(b'{"name":5,"price":"1"}', Item).words == "expected str, got int"


def test_an_unknown_codec_is_named_with_those_there_are() -> None:
    assert find_codec("json") is DEFAULT
    with pytest.raises(Misfit, match="'pickle', which this version cannot read; it reads json"):
        find_codec("pickle")
