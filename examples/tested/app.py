"""Orders that are paid, packed and reminded of: dependencies, middleware, a router, and tests of all of it."""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator
from typing import Annotated, Any

from orders import pack, remind, router

from noria import INJECTED, Backoff, CallNext, Context, Depends, Noria, Outgoing

app = Noria()
app.include(router, prefix="shop.")

trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="")


class Tracing:
    """Hands the correlation id of a job on to the jobs that it enqueues."""

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        trace.set(ctx.correlation_id)
        return await call_next()

    def on_enqueue(self, job: Outgoing) -> None:
        job.correlation_id = job.correlation_id or trace.get()


app.middleware(Tracing())


class Bank:
    """A client of a payment service; this one is out of order."""

    async def charge(self, order: str, cents: int, key: str) -> str:
        raise ConnectionError("the bank is closed")


async def open_bank() -> AsyncIterator[Bank]:
    """One client for each worker."""
    yield Bank()


@app.task(attempts=3, retry=Backoff(base=60, jitter="none"))
async def pay(
    ctx: Context,
    order: str,
    cents: int,
    *,
    bank: Annotated[Bank, Depends(open_bank, scope="app")] = INJECTED,
) -> str:
    """Charge an order once, however often this runs: the key tells the bank that it is the same charge."""
    receipt = await bank.charge(order, cents, key=ctx.job_id)
    await pack.enqueue(order)
    await remind.options(delay=7 * 86_400, unique=order).enqueue(order)
    return receipt
