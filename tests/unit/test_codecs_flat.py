"""Answers of people: what fits the schema of a type is a value of that type, so that none is taken and then lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from noria.codecs import DEFAULT
from noria.codecs.flat import flaws, schema_of


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


ZONED = Annotated[datetime, msgspec.Meta(tz=True)]
NAIVE = Annotated[datetime, msgspec.Meta(tz=False)]
TYPES: list[Any] = [
    str, int, float, bool, datetime, ZONED, NAIVE, date, time, timedelta, UUID, Decimal, Size, Level,
    Annotated[time, msgspec.Meta(tz=True)], Annotated[time, msgspec.Meta(tz=False)], Literal["a", 1, None],
    datetime | None, ZONED | None, date | None, time | None, timedelta | None, Decimal | None, UUID | None, int | str,
    int | float, Annotated[int, msgspec.Meta(multiple_of=2)], Annotated[float, msgspec.Meta(multiple_of=0.5)],
    Annotated[int, msgspec.Meta(ge=0, lt=3)], Annotated[str, msgspec.Meta(min_length=2, max_length=3, pattern="1")],
    list[Level], list[Literal["a", "b"]], set[Size],
]  # fmt: skip
ANSWERS: list[Any] = [
    "", "x", "a", "s", "nan", "1", "-1", "1.5", "1e500", "1_0", " 1", "１", "Infinity", "-0", "true", "null",
    "2026-12-01", "0001-01-01", "99999-01-01", "2026-02-30", "2026-12-01T10:00:00", "2026-12-01T10:00:00Z",
    "2026-12-01 10:00:00", "2026-12-01T10:00:00.123456789Z", "2026-12-01T10:00:00-05:00", "2026-12-01T10:00:00\n",
    "2026-12-01T24:00:00Z", "10:00", "10:00:00", "10:00:00.5", "10:00:00Z", "10:00:00-05:00", "P1D", "PT1H", "P1Y",
    "01a22c52-24f3-77d5-802a-6309c183da88", "01A22C5224F377D5802A6309C183DA88",
    0, 1, 2, 3, -1, 1.0, 1.5, 0.25, True, False, None, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 1e308,
    [], ["a"], ["a", "a"], ["s"], [1], [True], [1.0], [None], {}, {"a": 1},
]  # fmt: skip


@pytest.mark.parametrize("shape", TYPES, ids=str)
def test_what_fits_the_schema_is_a_value_of_the_type(shape: Any) -> None:
    schema, read = schema_of(shape), DEFAULT.decoder(shape, None)
    taken, lost = 0, []
    for answer in ANSWERS:
        if not flaws(schema, answer):
            taken += 1
            try:
                read(msgspec.json.encode(answer))
            except Exception as error:
                lost.append((answer, str(error)))

    assert lost == []
    assert taken, "some of the answers fit"


@pytest.mark.parametrize("shape", TYPES, ids=str)
def test_a_value_of_the_type_fits_its_schema_if_people_can_write_it(shape: Any) -> None:
    schema, read = schema_of(shape), DEFAULT.decoder(shape, None)
    for answer in ANSWERS:
        try:
            value = read(msgspec.json.encode(answer))
        except Exception:
            continue
        written = msgspec.json.decode(msgspec.json.encode(value))
        assert not flaws(schema, written), (answer, written)


@pytest.mark.parametrize("number", [10**400, -(10**400), float("nan"), float("inf")])
def test_a_number_that_no_type_holds_is_refused(number: float) -> None:
    assert flaws(schema_of(float), number) == [("", "must be a number")]


def test_a_time_says_so_in_its_schema_wherever_it_stands() -> None:
    @dataclass
    class Visit:
        when: datetime
        late: time | None
        until: ZONED | None = None

    properties = schema_of(Visit)["properties"]

    assert properties["when"]["format"] == "date-time"
    assert properties["late"]["anyOf"][0] == {"type": "string", "format": "time"}
    assert properties["until"]["anyOf"][0]["format"] == "date-time"
    assert flaws(schema_of(Visit), {"when": "tomorrow", "late": None}) == [("/when", "is no valid date-time")]
    assert flaws(
        schema_of(Visit), {"when": "2026-12-01T10:00:00", "late": None, "until": "2026-12-01T10:00:00"}
    ) == [("/until", "has not the form that is asked for")]
