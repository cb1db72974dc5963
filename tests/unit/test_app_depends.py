"""Dependencies: made around each start of a job, or once in a worker, and undone in reverse order."""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import pytest

from noria import (
    INJECTED,
    ConfigError,
    Context,
    Depends,
    InvalidArguments,
    JobFailed,
    Noria,
    Retry,
)
from noria.errors import TaskDefinitionError
from tests.support.workplace import Workplace, in_virtual_time

NOTES: list[str] = []


@pytest.fixture(autouse=True)
def blank() -> Iterator[None]:
    NOTES.clear()
    yield
    NOTES.clear()


class Base: ...


class Connection(Base):
    def __init__(self, name: str = "real") -> None:
        self.name = name


class Named(Protocol):
    name: str


async def pool() -> AsyncIterator[Connection]:
    NOTES.append("pool opened")
    yield Connection("pool")
    NOTES.append("pool closed")


Pool = Annotated[Connection, Depends(pool, scope="app")]


async def connection(source: Pool, ctx: Context) -> AsyncIterator[Connection]:
    NOTES.append(f"begin {ctx.starts}")
    try:
        yield Connection(f"{source.name}/{ctx.task}")
    except Exception as error:
        NOTES.append(f"rollback {type(error).__name__}")
        raise
    else:
        NOTES.append("commit")


One = Annotated[Connection, Depends(connection)]


def number() -> int:
    return 7


def in_a_thread() -> Iterator[int]:
    NOTES.append(f"thread {threading.current_thread() is threading.main_thread()}")
    yield 5
    NOTES.append(f"thread {threading.current_thread() is threading.main_thread()}")


async def broken() -> int:
    raise OSError("no such host")


@asynccontextmanager
async def managed() -> AsyncIterator[int]:
    yield 1


async def circle_one(other: Annotated[int, Depends("circle_two")]) -> int:  # type: ignore[arg-type]  # set below
    return other


async def circle_two(other: Annotated[int, Depends(circle_one)]) -> int:
    return other


circle_one.__annotations__["other"] = Annotated[int, Depends(circle_two)]


# ---- what jobs get


@in_virtual_time
async def test_a_job_gets_what_its_providers_make_and_they_clean_up_after_it() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work(a: int, db: One, n: Annotated[int, Depends(number)] = INJECTED, *, b: int = 2) -> str:
            NOTES.append("work")
            return f"{db.name} {a} {n} {b}"

        worker = await place.hire()
        assert await (await work.enqueue(1, b=3)) == "pool/work 1 7 3"
        assert await (await work.enqueue(1)) == "pool/work 1 7 2"
        await place.end(worker)
    assert ["pool opened", *["begin 1", "work", "commit"] * 2, "pool closed"] == NOTES


@in_virtual_time
async def test_a_provider_sees_the_failure_and_cannot_hide_it() -> None:
    async with Workplace() as place:

        async def hiding() -> AsyncIterator[int]:
            try:
                yield 1
            except ValueError:
                NOTES.append("hidden")

        @place.app.task(attempts=1)
        async def work(db: One, n: Annotated[int, Depends(hiding)]) -> None:
            raise ValueError("bad")

        await place.hire()
        with pytest.raises(JobFailed, match="ValueError: bad"):
            await (await work.enqueue())
    assert NOTES[1:4] == ["begin 1", "hidden", "rollback ValueError"]


@in_virtual_time
async def test_a_clean_up_that_fails_is_the_failure_of_the_job() -> None:
    async with Workplace() as place:

        async def cannot_commit() -> AsyncIterator[int]:
            yield 1
            raise OSError("commit failed")

        @place.app.task(attempts=1)
        async def work(n: Annotated[int, Depends(cannot_commit)]) -> int:
            return n

        await place.hire()
        with pytest.raises(JobFailed, match="commit failed"):
            await (await work.enqueue())


@in_virtual_time
async def test_a_provider_may_fail_or_steer_as_a_job_does() -> None:
    async with Workplace() as place:

        def later(ctx: Context) -> int:
            if ctx.attempt == 1:
                raise Retry("not yet", after=5)
            return ctx.attempt

        @place.app.task(attempts=1)
        async def fails(n: Annotated[int, Depends(broken)]) -> int:
            return n

        @place.app.task
        async def waits(n: Annotated[int, Depends(later)]) -> int:
            return n

        await place.hire()
        with pytest.raises(JobFailed, match="no such host"):
            await (await fails.enqueue())
        began = place.loop.time()
        assert await (await waits.enqueue()) == 2
        assert place.loop.time() - began >= 5


@in_virtual_time
async def test_a_cancelled_job_cleans_up() -> None:
    async with Workplace() as place:

        async def noting() -> AsyncIterator[int]:
            try:
                yield 1
            finally:
                NOTES.append("cleaned up")

        @place.app.task(attempts=1, timeout=2)
        async def work(n: Annotated[int, Depends(noting)]) -> None:
            await asyncio.sleep(100)

        await place.hire()
        with pytest.raises(JobFailed, match="longer than its time limit"):
            await (await work.enqueue())
    assert NOTES == ["cleaned up"]


@in_virtual_time
async def test_two_parameters_with_one_provider_share_its_value() -> None:
    async with Workplace() as place:

        def fresh() -> object:
            NOTES.append("made")
            return object()

        def through(a: Annotated[object, Depends(fresh)]) -> object:
            return a

        @place.app.task
        async def work(a: Annotated[object, Depends(fresh)], b: Annotated[object, Depends(through)]) -> bool:
            return a is b

        await place.hire()
        assert await (await work.enqueue())
        assert await (await work.enqueue())
    assert NOTES == ["made", "made"]


async def test_a_def_task_has_its_own_in_its_thread_and_async_ones_from_the_loop(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")

    def plain(source: One) -> Iterator[int]:
        NOTES.append(f"main thread: {threading.current_thread() is threading.main_thread()}")
        here = threading.get_ident()
        yield here
        NOTES.append(f"same thread: {threading.get_ident() == here}")

    @app.task
    def work(ctx: Context, a: int, db: One, ident: Annotated[int, Depends(plain)] = INJECTED) -> str:
        return f"{a} {db.name} {ident == threading.get_ident()} {ctx.attempt}"

    async with app:
        job = await work.enqueue(4)
        await app.worker(burst=True, concurrency=1, threads=1).run()
        assert await job == "4 pool/work True 1"
    assert NOTES == [
        "pool opened", "begin 1", "main thread: False", "same thread: True", "commit", "pool closed"
    ]  # fmt: skip


@in_virtual_time
async def test_what_has_app_scope_is_opened_after_the_lifespan_and_closed_before_it() -> None:
    async with Workplace() as place:

        @place.app.lifespan
        async def resources() -> AsyncIterator[str]:
            NOTES.append("lifespan opened")
            yield "state"
            NOTES.append("lifespan closed")

        @place.app.task
        async def work(ctx: Context, db: Pool) -> str:
            return f"{ctx.state} {db.name}"

        worker = await place.hire()
        assert await (await work.enqueue()) == "state pool"
        await place.end(worker)
    assert NOTES == ["lifespan opened", "pool opened", "pool closed", "lifespan closed"]


@in_virtual_time
async def test_a_worker_does_not_start_without_what_has_app_scope() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work(n: Annotated[int, Depends(broken, scope="app")]) -> None: ...

        worker = place.make()
        with pytest.raises(OSError, match="no such host") as caught:
            await worker.run()
        assert "'broken' of scope 'app'" in caught.value.__notes__[0]


# ---- overrides


@in_virtual_time
async def test_a_test_may_put_another_provider_in_place() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work(db: One) -> str:
            return db.name

        def fake() -> Connection:
            return Connection("fake")

        await place.hire(overrides={pool: fake})
        assert await (await work.enqueue()) == "fake/work"
    assert "pool opened" not in NOTES


def test_an_override_for_what_nobody_needs_is_refused() -> None:
    app = Noria()

    @app.task
    async def work(db: One) -> str:
        return db.name

    with pytest.raises(ConfigError, match=r"no task depends on .*number"):
        app.surroundings({number: lambda: 1})
    with pytest.raises(ConfigError, match="5 cannot stand in"):
        app.surroundings({pool: 5})  # type: ignore[dict-item]  # the point of this test


# ---- what is no dependency costs nothing


def test_a_task_without_any_is_given_to_the_worker_as_it_is() -> None:
    app = Noria()

    @app.task
    async def plain() -> None: ...

    @app.task
    async def needy(n: Annotated[int, Depends(number)]) -> None: ...

    bound = app.surroundings().tasks
    assert bound["plain"] is app.tasks["plain"]
    assert bound["needy"] is not app.tasks["needy"]
    assert app.surroundings().lifespan is None


# ---- arguments


def test_a_dependency_is_no_argument() -> None:
    app = Noria()

    @app.task
    async def work(a: int, db: One, b: int = 2) -> None: ...

    assert work.job(1, 5).new.body == b'{"a":1,"b":5}'
    with pytest.raises(InvalidArguments, match="'db'"):
        work.job(1, db=3)


async def test_a_function_called_by_hand_says_what_is_missing() -> None:
    app = Noria()

    @app.task
    async def work(db: One = INJECTED) -> str:
        return db.name

    assert await work(Connection("mine")) == "mine"
    with pytest.raises(AttributeError, match="pass it yourself"):
        await work()
    assert repr(INJECTED) == "INJECTED"


# ---- what is refused when the task is defined


def positional(n: Annotated[int, Depends(number)], /) -> None: ...
async def circle(n: Annotated[int, Depends(circle_two)]) -> None: ...
async def twice(n: Annotated[int, Depends(number), Depends(number)]) -> None: ...
async def wrong_type(n: Annotated[str, Depends(number)]) -> None: ...
async def wrong_yield(n: Annotated[str, Depends(in_a_thread)]) -> None: ...
async def no_function(n: Annotated[str, Depends(5)]) -> None: ...  # type: ignore[arg-type]  # the point
async def no_scope(n: Annotated[int, Depends(number, scope="request")]) -> None: ...  # type: ignore[arg-type]  # the point
async def a_manager(n: Annotated[int, Depends(managed)]) -> None: ...
async def nobody_gives(n: Annotated[int, Depends(lambda x: x)]) -> None: ...


def outliving(db: One) -> int:
    return 1


async def outlives(n: Annotated[int, Depends(outliving, scope="app")]) -> None: ...


def of_a_job(ctx: Context) -> int:
    return 1


async def context_of_no_job(n: Annotated[int, Depends(of_a_job, scope="app")]) -> None: ...


def unknown_name(n: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821 - the point
    return 1


async def unresolved(n: Annotated[int, Depends(unknown_name)]) -> None: ...
async def only_the_default(n: int = INJECTED) -> None: ...
def default_alone(n: int = INJECTED) -> int:
    return n


async def default_of_a_provider(n: Annotated[int, Depends(default_alone)]) -> None: ...
async def no_signature(n: Annotated[Any, Depends(dict.fromkeys)]) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (positional, "passed by name"),
        (circle, "circle: circle_two -> circle_one -> circle_two"),
        (twice, "has 2 Depends"),
        (wrong_type, "it is a str, and 'number' makes a int"),
        (wrong_yield, "it is a str, and 'in_a_thread' makes a int"),
        (no_function, "not 5"),
        (no_scope, "'job' or 'app', not 'request'"),
        (a_manager, "give the generator function itself"),
        (nobody_gives, "nobody gives it 'x'"),
        (outlives, "'db' belongs to one"),
        (context_of_no_job, "'ctx' belongs to one"),
        (unresolved, "name 'Nowhere'.* cannot be resolved"),
        (no_signature, "iterable"),
        (only_the_default, "only a parameter that is annotated with Depends is INJECTED"),
        (default_of_a_provider, "nobody gives it 'n'"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_cannot_be_made_is_refused_at_once(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TaskDefinitionError, match=f"task '{function.__name__}'.*{words}"):
        Noria().task(function)


@dataclass
class Unhashable:
    n: int

    def __call__(self) -> int:
        return self.n


class Maker:
    def of(self, n: Annotated[int, Depends(number)]) -> int:
        return -n

    async def __call__(self, n: Annotated[int, Depends(number)]) -> str:
        return f"made {n}"


class Service:
    def __init__(self, n: Annotated[int, Depends(number)], note: str = "x") -> None:
        self.text = f"{n}{note}"


def scaled(n: Annotated[int, Depends(number)], by: int) -> int:
    return n * by


@in_virtual_time
async def test_anything_that_can_be_called_is_a_provider() -> None:
    async with Workplace() as place:
        double: Callable[..., int] = functools.partial(scaled, by=2)
        five = Unhashable(5)

        @place.app.task
        async def work(
            a: Annotated[str, Depends(Maker())],
            b: Annotated[Service, Depends(Service)],
            c: Annotated[int, Depends(double)],
            d: Annotated[int, Depends(five)],
            e: Annotated[int, Depends(Maker().of)],
        ) -> list[str]:
            return [a, b.text, str(c), str(d), str(e)]

        await place.hire()
        assert await (await work.enqueue()) == ["made 7", "7x", "14", "5", "-7"]


@in_virtual_time
async def test_a_coroutine_that_nobody_would_await_is_an_error() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work(n: Annotated[int, Depends(lambda: broken())]) -> None: ...

        await place.hire()
        with pytest.raises(JobFailed, match="gives a coroutine; make it an `async def`"):
            await (await work.enqueue())


def wide() -> Connection:
    return Connection()


def whole() -> int:
    return 1


def unsaid():  # type: ignore[no-untyped-def]  # the point
    return "anything"


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[Base, Depends(wide)],
        Annotated[Named, Depends(wide)],
        Annotated[float, Depends(whole)],
        Annotated[Connection | None, Depends(wide)],
        Annotated[int, Depends(unsaid)],
        Annotated[Callable[[], Awaitable[None]], Depends(unsaid)],
    ],
    ids=["a subclass", "a protocol", "a number", "one of two", "nothing said", "a form"],
)
def test_types_that_fit_or_cannot_be_told_are_taken(annotation: Any) -> None:
    async def work(x: Any) -> None: ...

    work.__annotations__["x"] = annotation
    assert Noria().task(work).name == "work"
