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
from noria.clock import Clock
from noria.errors import Cancel, Fail, InvalidArguments, Snooze
from noria.ids import Id, IdSource
from noria.model.backoff import Backoff
from noria.model.task import Arguments, TaskDef
from noria.testing.events import Begot, Effect, Fact, Fault, Fed, RunEnd, RunStart
from noria.testing.history import digest
from noria.testing.offspring import Child, Describing, born, child, values
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
        children: the follow-ups that it asks for at its beginning.
        fed: the values of the jobs that it has waited for.
    """

    seconds: float = 0.0
    dies: int = 0
    fails: int = 0
    snoozes: bool = False
    gives_up: str = ""
    stubborn: float = 0.0
    children: tuple[Child, ...] = ()
    fed: list[int | None] | None = None


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


def with_children(dice: random.Random, deed_of: Deed, ttl: float, depth: int = 2) -> Deed:
    """The same deed, with follow-ups drawn, some of which have their own."""
    children: list[Child] = []
    for elder in range(dice.randint(1, 3)):
        drawn = deed(dice, ttl)
        if depth > 1 and dice.random() < 0.2:
            drawn = with_children(dice, drawn, ttl, depth - 1)
        children.append(child(dice, msgspec.json.encode(drawn), elder))
    return msgspec.structs.replace(deed_of, children=tuple(children))


class Handlers:
    """The tasks of a simulated application.

    Args:
        note: writes down facts, as the process that runs now.
        session: finds the session of a start.
        clock: the time.
        ids: of follow-ups.
        asked: gets these; shared.

    Attributes:
        busy: how many `async def` jobs go on in each process, those included whose outcome was settled without them.
    """

    def __init__(
        self,
        note: Callable[[Fact], None],
        session: Callable[[str, int], int],
        *,
        clock: Clock,
        ids: IdSource,
        asked: list[Id],
    ) -> None:
        self._note = note
        self._session = session
        self._clock = clock
        self._ids = ids
        self._asked = asked
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
        key = self._begin(ctx, deed)
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
        return self._finish(ctx, self._begin(ctx, deed), deed)

    async def _die(self) -> None:
        process = current_process()
        if process is not None:
            crash = f"crash of {process.name}"
            self._note(Fault(phase="begin", name=crash, what="kill", target=process.name))
            process.kill()
        await asyncio.Event().wait()

    def _begin(self, ctx: Context, deed: Deed) -> tuple[str, int, int]:
        id = ctx.job_id.replace("-", "")
        session = self._session(id, ctx.starts)
        self._note(RunStart(id=id, session=session, starts=ctx.starts, attempt=ctx.attempt))
        if deed.fed is not None:
            fed = tuple(digest("json", value) or "" for value in values(deed.fed))
            self._note(Fed(id=id, session=session, starts=ctx.starts, values=fed))
        self._beget(ctx, Begot(id="", parent=id, session=session, starts=ctx.starts), deed)
        return id, session, ctx.starts

    def _beget(self, ctx: Context, told: Begot, deed: Deed) -> None:
        """Ask for follow-ups, before anything can go wrong."""
        siblings: list[str] = []
        for each in deed.children:
            new = born(each, self._ids.next(), siblings, self._clock.wall())
            _ = ctx.enqueue(Describing(new))
            siblings.append(new.id.hex())
            self._asked.append(new.id)
            self._note(msgspec.structs.replace(told, id=new.id.hex()))

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
