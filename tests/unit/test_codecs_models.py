"""Pydantic models and instances of subclasses: what is enqueued arrives equal, or is refused by its field's name."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec
import pydantic
import pytest

from noria import InvalidArguments, InvalidResult, Noria

T = TypeVar("T")


class Base(pydantic.BaseModel):
    a: int = 1


class Sub(Base):
    b: int = 2


class Generic1(pydantic.BaseModel, Generic[T]):
    v: T


class Strict(pydantic.BaseModel, strict=True):
    when: datetime
    price: Decimal
    pair: tuple[int, int]


class Computed(pydantic.BaseModel, extra="forbid"):
    x: int

    @pydantic.computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def double(self) -> int:
        return 2 * self.x


class Raw(pydantic.BaseModel, ser_json_bytes="base64", val_json_bytes="base64"):
    data: bytes


class Open(pydantic.BaseModel, extra="allow"): ...


class Plain(pydantic.BaseModel):
    password: pydantic.SecretStr

    @pydantic.field_serializer("password", when_used="json")
    def write(self, value: pydantic.SecretStr) -> str:
        return value.get_secret_value()


class Numbers(pydantic.RootModel[list[int]]): ...


class Credentials(pydantic.BaseModel):
    user: str
    password: pydantic.SecretStr


class Hiding(pydantic.BaseModel):
    hidden: int = pydantic.Field(default=1, exclude=True)


class Bytes(pydantic.BaseModel):
    data: bytes


class Float(pydantic.BaseModel):
    f: float | None


class Private(pydantic.BaseModel):
    _seen: int = pydantic.PrivateAttr(default=0)

    def see(self) -> Private:
        self._seen += 1
        return self


class Rewriting(pydantic.BaseModel):
    x: int

    @pydantic.field_serializer("x")
    def write(self, value: int) -> str:
        return f"number {value}"


class Aliased(pydantic.BaseModel, populate_by_name=True):
    secret: pydantic.SecretStr = pydantic.Field(alias="theSecret")


class Outer(pydantic.BaseModel):
    inner: list[Base | Bytes | Rewriting | Float] = []
    base: Base = Base()


@dataclasses.dataclass
class Data:
    a: int = 1


@dataclasses.dataclass
class SubData(Data):
    b: int = 2


@dataclasses.dataclass
class Holder:
    data: Data


class Struct(msgspec.Struct):
    a: int = 1


class SubStruct(Struct):
    b: int = 2


def task_of(hint: Any) -> Any:
    def work(x: Any) -> Any: ...

    work.__annotations__ = {"x": hint, "return": hint}
    return Noria().task(work)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Strict, Strict(when=datetime(2026, 1, 2, tzinfo=UTC), price=Decimal("1.10"), pair=(1, 2))),
        (Computed, Computed(x=1)),
        (Raw, Raw(data=b"\xff\x00")),
        (Open, Open.model_validate({"q": 1})),
        (Plain, Plain(password=pydantic.SecretStr("hunter2"))),
        (Numbers, Numbers([1, 2])),
        (Private, Private()),
        (dict[str, Sub], {"a": Sub(b=9)}),
        (Generic1, Generic1[int](v=1)),
        (Base | None, None),
        (list[SubData], [SubData(b=3)]),
        (tuple[Struct, ...], (Struct(2),)),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_a_model_writes_makes_an_equal_one(hint: Any, value: Any) -> None:
    definition = task_of(hint).definition
    assert definition.unpack(task_of(hint).job(value).new.body, "json") == ((value,), {})
    assert definition.unpack(b'{"x":' + definition.pack_result(value)[0] + b"}", "json") == ((value,), {})


LOST: list[tuple[Any, Any, str, str]] = [
    (Credentials, Credentials(user="a", password=pydantic.SecretStr("hunter2")), "x.password", "is a secret"),
    (Any, Credentials(user="a", password=pydantic.SecretStr("hunter2")), "x.password", "is a secret"),
    (Aliased, Aliased(secret=pydantic.SecretStr("hunter2")), "x.secret", "is a secret"),
    (Hiding, Hiding(hidden=9), "x.hidden", "is excluded"),
    (Bytes, Bytes(data=b"\xff"), "x.data", "ser_json_bytes='base64'"),
    (Float, Float(f=math.nan), "x.f", "NaN or infinity"),
    (Float, Float(f=-math.inf), "x.f", "NaN or infinity"),
    (Private, Private().see(), "x._seen", "would not arrive"),
    (Rewriting, Rewriting(x=1), "x.x", "would not arrive as it is"),
    (Outer, Outer(inner=[Base(), Bytes(data=b"\xff")]), "x.inner", "would not arrive"),
    (Outer, Outer(base=Sub(b=9)), "x.base", "is a Sub, and would arrive as the Base"),
    (list[Credentials], [Credentials(user="a", password=pydantic.SecretStr("h"))], "x.password", "a secret"),
    (Base, Sub(), "x", "is a Sub, and would arrive as the Base"),
    (dict[str, Base], {"k": Sub()}, "x[...]", "is a Sub"),
    (Data, SubData(), "x", "is a SubData, and would arrive as the Data"),
    (list[Data], [Data(), SubData()], "x[1]", "is a SubData"),
    (Holder, Holder(SubData()), "x.data", "is a SubData"),
    (Struct | None, SubStruct(), "x", "is a SubStruct"),
]


@pytest.mark.parametrize(("hint", "value", "field", "words"), LOST, ids=lambda each: str(each)[:40])
def test_what_would_arrive_as_another_value_is_refused(hint: Any, value: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidArguments, match=words) as caught:
        task_of(hint).job(value)
    assert caught.value.field == field
    assert "hunter2" not in str(caught.value)


def test_a_result_that_its_model_does_not_write_is_no_result() -> None:
    with pytest.raises(InvalidResult, match=r"password is a secret") as caught:
        task_of(Any).definition.pack_result(Credentials(user="a", password=pydantic.SecretStr("hunter2")))
    assert "hunter2" not in str(caught.value)
