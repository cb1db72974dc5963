"""Jobs that do everything a job can do, and tell the history what they did."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from noria import aio
from noria.errors import Cancel, Fail, InvalidArguments, Snooze
from noria.model.backoff import Backoff
from noria.model.task import Arguments, TaskDef
from noria.testing.events import Effect, Fact, Fault, RunEnd, RunStart
from noria.testing.virtual import Process, current_process
from noria.worker.context import Context


class Deed(Struct, frozen=True, omit_defaults=True):
    """What one job does, in this order.

    Attributes:
        seconds: how long it works.
        dies: while it has crashed less often than this, it kills its process.
        fails: while its attempt is not past this, it raises.
        snoozes: on its first start, it puts itself off.
        gives_up: it raises `Fail` or `Cancel` in the end.
        stubborn: it ignores that it should end for this many seconds.
    """

    seconds: float = 0.0
    dies: int = 0
    fails: int = 0
    snoozes: bool = False
    gives_up: str = ""
    stubborn: float = 0.0


def deed(dice: random.Random, ttl: float) -> Deed:
    """Draw what a job does: most are quick and well, some are everything else."""
    return Deed(
        seconds=dice.choice((0.0, 0.01, 0.1, 1.0, dice.uniform(0, 2 * ttl))),
        dies=dice.choice((0,) * 17 + (1, 2, 9)),
        fails=dice.choice((0,) * 10 + (1, 2, 9)),
        snoozes=dice.random() < 0.1,
        gives_up=dice.choice(("",) * 18 + ("fail", "cancel")),
        stubborn=dice.choice((0.0,) * 18 + (0.5, 8.0)),
    )


class Handlers:
    """The tasks of a simulated application.

    Args:
        note: writes down facts, as the process that runs now.
        session: finds the session of a start.

    Attributes:
        busy: how many `async def` jobs go on in each process, those included whose outcome was settled without them.
    """

    def __init__(self, note: Callable[[Fact], None], session: Callable[[str, int], int]) -> None:
        self._note = note
        self._session = session
        self.busy: Counter[Process | None] = Counter()

    def tasks(self) -> dict[str, TaskDef]:
        """What a worker is given."""
        return {"act": _task("act", self.act, "async"), "think": _task("think", self.think, "thread")}

    async def act(self, ctx: Context, deed: Deed) -> int:
        """An `async def` job."""
        process = current_process()
        self.busy[process] += 1
        try:
            return await self._act(ctx, deed)
        finally:
            self.busy[process] -= 1

    async def _act(self, ctx: Context, deed: Deed) -> int:
        key = self._begin(ctx)
        try:
            await aio.sleep(deed.seconds)
        except asyncio.CancelledError:
            await aio.sleep(deed.stubborn)
            raise
        if ctx.crashes < deed.dies:
            await self._die()
        return self._finish(ctx, key, deed)

    def think(self, ctx: Context, deed: Deed) -> int:
        """A `def` job."""
        return self._finish(ctx, self._begin(ctx), deed)

    async def _die(self) -> None:
        process = current_process()
        if process is not None:
            crash = f"crash of {process.name}"
            self._note(Fault(phase="begin", name=crash, what="kill", target=process.name))
            process.kill()
        await asyncio.Event().wait()

    def _begin(self, ctx: Context) -> tuple[str, int, int]:
        id = ctx.job_id.replace("-", "")
        session = self._session(id, ctx.starts)
        self._note(RunStart(id=id, session=session, starts=ctx.starts, attempt=ctx.attempt))
        return id, session, ctx.starts

    def _finish(self, ctx: Context, key: tuple[str, int, int], deed: Deed) -> int:
        if deed.snoozes and ctx.starts == 1:
            raise Snooze(0.5)
        if ctx.attempt <= deed.fails:
            raise ValueError(f"attempt {ctx.attempt} fails")
        if deed.gives_up:
            raise Fail("given up") if deed.gives_up == "fail" else Cancel("given up")
        id, session, starts = key
        self._note(Effect(id=id, session=session, starts=starts))
        self._note(RunEnd(id=id, session=session, starts=starts, outcome="succeeded"))
        return starts


_decoder = msgspec.json.Decoder(Deed)


def _unpack(body: bytes, codec: str) -> Arguments:
    try:
        return (_decoder.decode(body),), {}
    except msgspec.MsgspecError as error:
        raise InvalidArguments(str(error)) from error


def _pack(value: Any) -> tuple[bytes, str]:
    return msgspec.json.encode(value), "json"


def _task(name: str, handler: Callable[..., Any], executor: Any) -> TaskDef:
    return TaskDef(
        name=name,
        queue="a",
        handler=handler,
        executor=executor,
        takes_context=True,
        attempts=3,
        crash_budget=3,
        timeout=None,
        retry=Backoff(base=0.1, cap=2.0),
        priority=0,
        keep=None,
        unpack=_unpack,
        pack_result=_pack,
    )
