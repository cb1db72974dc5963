"""What a function's signature may say, and what is refused when it is declared."""

from __future__ import annotations

import asyncio
import functools
import math
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NoReturn,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
)

import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from noria import Backoff, Context, Noria, TaskDefinitionError
from noria.errors import InvalidName, InvalidOption

if TYPE_CHECKING:
    from somewhere import Hidden


@dataclass
class Order:
    number: int


class Form(pydantic.BaseModel):
    number: int


class Frozen(Form, frozen=True): ...


class OwnContext(Context): ...


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    inside: T


@dataclass
class Loose:
    anything: object


class LooseDict(TypedDict):
    anything: NotRequired[object]


class Calling(pydantic.BaseModel):
    call: Callable[[], int]


class Unfinished(pydantic.BaseModel):
    later: Missing  # type: ignore[name-defined]  # noqa: F821 - so that it is not fully defined


@dataclass
class UnfinishedToo:
    later: Missing  # type: ignore[name-defined]  # noqa: F821 - as above


@dataclass
class Bounded:
    number: pydantic.PositiveInt


@pydantic.dataclasses.dataclass
class Validated:
    number: int


@dataclass
class Waiting:
    """Its default has no JSON form, so that msgspec makes no schema."""

    form: Frozen = Frozen(number=1)  # noqa: RUF009 - it cannot change


async def sample(order: Order, note: str = "", *, copies: int = 1) -> str:
    return note


def test_a_task_is_named_after_its_function_and_takes_the_defaults() -> None:
    task = Noria().task(sample)
    definition = task.definition
    assert (definition.name, definition.queue, definition.executor) == ("sample", "default", "async")
    assert (definition.attempts, definition.crash_budget, definition.timeout) == (5, 3, None)
    assert (definition.retry, definition.priority, definition.keep) == (Backoff(), 0, None)
    assert not definition.takes_context
    assert task.function is sample
    assert task.__name__ == "sample"


def test_options_reach_the_definition() -> None:
    def work() -> None: ...

    task = Noria().task(
        name="w.1", queue="q", priority=-9, attempts=1, crashes=7, timeout=2, retry=Backoff(base=5), keep=0
    )(work)
    definition = task.definition
    assert (definition.name, definition.queue, definition.executor) == ("w.1", "q", "thread")
    assert (definition.attempts, definition.crash_budget, definition.timeout) == (1, 7, 2.0)
    assert (definition.retry, definition.priority, definition.keep) == (Backoff(base=5), -9, 0.0)


def test_a_task_is_called_like_its_function() -> None:
    app = Noria()
    task = app.task(sample)
    assert asyncio.run(task(Order(1), "n")) == "n"

    @app.task
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8


def test_a_context_is_known_by_its_annotation_and_is_no_argument() -> None:
    app = Noria()

    @app.task
    async def first(ctx: Context, a: int) -> int:
        return a

    @app.task
    def second(own: OwnContext) -> None: ...

    @app.task
    def third(ctx: int) -> None: ...

    assert first.definition.takes_context
    assert first.definition.unpack(first.job(3).new.body, "json") == ((3,), {})
    assert second.definition.takes_context
    assert not third.definition.takes_context


def test_tasks_can_be_found_by_name() -> None:
    app = Noria()
    task = app.task(sample)
    assert dict(app.tasks) == {"sample": task.definition}
    assert app.find_task("sample") is task
    with pytest.raises(LookupError, match="did you mean 'sample'"):
        app.find_task("smaple")


def test_a_name_is_given_once() -> None:
    app = Noria()
    app.task(sample)
    with pytest.raises(TaskDefinitionError, match=r"'sample' is declared twice.*name="):
        app.task(sample)
    assert app.task(name="other")(sample).name == "other"


def test_every_supported_type_can_be_declared() -> None:
    def wide(
        a: Any,
        b: Optional[int],  # noqa: UP045 - the old spelling must work
        c: list[Order] | None,
        d: Annotated[int, msgspec.Meta(gt=0), pydantic.Field(description="more than none")],
        e: Form,
        f: object,
        g: dict[str, list[Form]],
        h: Form | None = None,
        i: list[object] = [],  # noqa: B006 - a mutable default is the function's own business
        *,
        j: Order = Order(1),  # noqa: B008 - never changed
        k: Callable[[], int] = abs,
    ) -> Form | None: ...

    wide.__annotations__.pop("k")  # without annotation anything goes
    Noria().task(wide)


LOOSE: list[tuple[Any, Any]] = [
    (dict[str, object], {"a": [1, None, {"b": 2.5}]}),
    (list[object], [1, "x"]),
    (Sequence[object], [1, "x"]),
    (set[object], {1, "x"}),
    (object | None, {"a": 1}),
    (object | None, None),
    (dict[object, int], {"a": 1}),
    (dict[int | Decimal | None, int], {1: 1}),
    (dict[Literal["a", 1], int], {"a": 1, 1: 2}),
    (Box[object], Box([1])),
    (Loose, Loose({"a": 1})),
    (LooseDict, {"anything": 1}),
]


@pytest.mark.parametrize(("hint", "value"), LOOSE, ids=[str(hint)[:40] for hint, _ in LOOSE])
def test_object_inside_a_type_is_anything(hint: Any, value: Any) -> None:
    def work(x: Any) -> Any:
        return x

    work.__annotations__ = {"x": hint, "return": hint}
    app = Noria()
    task = app.task(work)
    assert task.definition.unpack(task.job(value).new.body, "json") == ((value,), {})
    [sheet] = app.sheets()
    assert sheet.args_schema != b"{}"
    assert sheet.result_schema != b"{}"


def test_a_type_without_a_schema_keeps_no_worker_from_starting(caplog: pytest.LogCaptureFixture) -> None:
    def work(x: Waiting) -> None: ...

    app = Noria()
    task = app.task(work)
    assert task.definition.unpack(task.job(Waiting()).new.body, "json") == ((Waiting(),), {})
    [sheet] = app.sheets()
    assert bytes(sheet.args_schema) == b"{}"
    assert "task work: no JSON schema" in caplog.text


def never(n: int) -> NoReturn:
    raise SystemExit


def starred(*urls: str) -> None: ...
def double_starred(**urls: str) -> None: ...
def hidden(x: Hidden) -> None: ...
def stranger(x: socket.socket) -> None: ...
def calling(x: list[Calling]) -> None: ...
def unnamed(x: pydantic.BaseModel) -> None: ...
def unfinished(x: Unfinished | None) -> None: ...
def unfinished_too(x: UnfinishedToo) -> None: ...
def positive(x: list[pydantic.PositiveInt]) -> None: ...
def bounded(x: Annotated[int, pydantic.Field(gt=0)] = 1) -> None: ...
def within(x: dict[str, Bounded]) -> None: ...
def validated(x: Validated) -> None: ...
def tuple_keys(x: list[dict[tuple[int, int], int]]) -> None: ...
def bool_keys(x: dict[bool, int] | None) -> None: ...
def none_keys() -> dict[None, int]: ...
def flag_keys(x: dict[Literal[True], int]) -> None: ...
def deep_stranger(x: dict[str, list[Path | None]]) -> None: ...
def strange_result() -> socket.socket: ...
def mixed(x: list[int] | set[int]) -> None: ...
def context_last(x: int, ctx: Context) -> None: ...
def two_contexts(a: Context, b: Context) -> None: ...
def method(self, x: int) -> None: ...
def yielding() -> Any:
    yield 1


async def streaming() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (starred, r"parameter 'urls'.*take one list or dict"),
        (double_starred, r"parameter 'urls'.*take one list or dict"),
        (hidden, r"name 'Hidden' .*cannot be resolved.*TYPE_CHECKING"),
        (stranger, r"parameter 'x': values of type socket cannot be stored"),
        (deep_stranger, r"parameter 'x'.*Path"),
        (calling, r"'calling': parameter 'x': the model Calling has no JSON schema.*Callable"),
        (unnamed, r"parameter 'x': BaseModel itself has no fields"),
        (unfinished, r"parameter 'x': the model Unfinished .*not fully defined.*`Missing`"),
        (unfinished_too, r"parameter 'x': name 'Missing' is not defined; define it above"),
        (positive, r"parameter 'x': Gt\(gt=0\) is pydantic's.*msgspec.Meta"),
        (bounded, r"parameter 'x': FieldInfo.* is pydantic's"),
        (within, r"parameter 'x': Gt\(gt=0\) is pydantic's"),
        (validated, r"parameter 'x': the dataclass Validated is pydantic's"),
        (tuple_keys, r"parameter 'x': the keys of a dict must be text in JSON.*list of pairs"),
        (bool_keys, r"parameter 'x': the keys of a dict"),
        (none_keys, r"its result: the keys of a dict"),
        (flag_keys, r"parameter 'x': the keys of a dict"),
        (strange_result, r"its result: values of type socket cannot be stored"),
        (mixed, r"parameter 'x'.*may not contain more than one array-like"),
        (context_last, r"parameter 'ctx': the Context must be the first"),
        (two_contexts, r"parameter 'b': the Context must be the first"),
        (method, r"looks like a method"),
        (yielding, r"return a list instead of yielding"),
        (streaming, r"return a list instead of yielding"),
        (lambda x: x, r"name="),
        (functools.partial(sample, Order(1)), r"no function"),
        (Order, r"no function"),
        (min, r"wrap it in a function"),
    ],
)
def test_functions_that_cannot_be_tasks_are_refused_in_words(function: Any, words: str) -> None:
    with pytest.raises(TaskDefinitionError, match=words):
        Noria().task(function)


def test_a_result_that_never_comes_is_no_fault_of_the_declaration() -> None:
    assert Noria().task(never).name == "never"
    assert Noria().task(math.sqrt).definition.executor == "thread"


def wrapping(function: Any) -> Any:
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inside


def test_a_coroutine_inside_a_decorator_must_say_where_it_runs() -> None:
    with pytest.raises(TaskDefinitionError, match=r"executor='async'.*executor='thread'"):
        Noria().task(wrapping(sample))
    assert Noria().task(executor="async")(wrapping(sample)).definition.executor == "async"
    assert Noria().task(executor="thread")(wrapping(sample)).definition.executor == "thread"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"executor": "process"}, TaskDefinitionError, "runs a plain `def`"),
        ({"executor": "thread"}, TaskDefinitionError, "leave out executor='thread'"),
        ({"executor": "thraed"}, InvalidOption, "executor must be"),
        ({"que": "mail"}, InvalidOption, "did you mean 'queue'"),
        ({"name": "a b"}, InvalidName, "cannot name a task"),
        ({"queue": ""}, InvalidName, "cannot name a queue"),
        ({"timeout": 0}, InvalidOption, "timeout must be at least 0.001"),
    ],
)
def test_options_that_cannot_be_are_refused(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Noria().task(**options)(sample)
