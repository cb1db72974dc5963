"""What users' editors say about dependencies, middleware and routers; see `calls.py`.

A type checker cannot take parameters out of a signature by their annotation. With the default `INJECTED` a
dependency may be left out; without it, it is asked for.
"""

# mypy: disable-error-code="unused-awaitable"

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, assert_type

from noria import INJECTED, CallNext, Context, Depends, Job, Middleware, Noria, Outgoing, Router

app = Noria()
router = Router(prefix="mail.", queue="mail", attempts=3)


class Pool: ...


async def open_pool() -> AsyncIterator[Pool]:
    yield Pool()


PoolOf = Annotated[Pool, Depends(open_pool, scope="app")]


@app.task
async def store(key: str, *, size: int = 1, pool: PoolOf = INJECTED) -> int:
    assert_type(pool, Pool)
    return len(key) * size


@app.task
async def with_context(ctx: Context, key: str, pool: PoolOf = INJECTED) -> str:
    return key


@app.task
def in_a_thread(key: str, pool: PoolOf = INJECTED) -> bytes:
    return key.encode()


@app.task
async def bare(pool: PoolOf, key: str) -> None: ...


@router.task
async def send(to: str) -> str:
    return to


async def dependencies_are_left_out() -> None:
    assert_type(await store.enqueue("k"), Job[int])
    assert_type(await store.enqueue("k", size=2), Job[int])
    assert_type(await with_context.enqueue("k"), Job[str])
    assert_type(await in_a_thread.enqueue("k"), Job[bytes])
    assert_type(await store("k", pool=Pool()), int)
    await store.enqueue(1)  # type: ignore[arg-type]  # the key is text
    await store.enqueue()  # type: ignore[call-arg]  # a key is missing
    await store.enqueue("k", pool=5)  # type: ignore[arg-type]  # five is no pool
    await bare.enqueue(key="k")  # type: ignore[call-arg]  # without the default it is asked for


async def routers_declare_as_applications_do() -> None:
    assert_type(await send.enqueue("a@b.c"), Job[str])
    await send.enqueue(1)  # type: ignore[arg-type]  # the address is text
    app.include(router, prefix="v1.")
    app.include(5)  # type: ignore[arg-type]  # a number is no router


class Timing:
    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        return await call_next()

    def on_enqueue(self, job: Outgoing) -> None:
        job.correlation_id = "c"


@app.middleware
async def logging(ctx: Context, call_next: CallNext) -> Any:
    return await call_next()


def plain(ctx: Context, call_next: CallNext) -> None: ...


layer: Middleware = Timing()
Noria(middleware=[Timing(), logging])
app.middleware(Timing())
app.middleware(plain)  # type: ignore[type-var]  # it cannot be awaited
Depends(open_pool, scope="request")  # type: ignore[arg-type]  # there is no such scope
