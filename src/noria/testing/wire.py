"""The way from a simulated process to its store: it takes time, and any call on it may go wrong.

A call can fail before it is done, fail after it was done, fail and be done later, be answered late, be made
twice, or be cancelled under its caller. Which call goes wrong, and how, is drawn from the seed; a `script` names
calls by their number instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Literal, get_args

from noria import aio
from noria.errors import NoriaError, Unavailable, Unknown
from noria.testing.events import Fact, Fault
from noria.testing.virtual import Process, current_process

Trouble = Literal["refused", "lost", "unheard", "belated", "slow", "repeated", "cancelled"]
"""How a call goes wrong.

refused: `Unavailable`, it was not done. lost: `Unknown`, it was not done. unheard: `Unknown`, it was done.
belated: `Unknown`, it is done some time later, whatever has become of its caller. slow: the answer comes late.
repeated: the store is asked twice, now or some time later. cancelled: its caller is cancelled, before or after it
was done.
"""

TROUBLES: Final[tuple[Trouble, ...]] = get_args(Trouble)

CALLS: Final = frozenset(
    {"push", "lease", "recall", "settle", "sweep", "open", "renew", "overdue", "end", "get", "alter", "find"}
    | {
        "read",
        "write",
        "scan",
        "steer",
        "tally",
        "place",
        "dead_groups",
        "fleet",
        "command",
        "stats",
        "series",
        "counts",
        "mark",
        "emitted",
        "group",
        "groups",
        "resources",
    }
)
_LATER: Final = frozenset({"push", "settle", "renew", "end"})
"""Calls that may be done long after they were asked for: fences, ids and beats tell that they come too late.

What a person asked for may not, or it would undo what the next person did. Nor may a lease: the contract's
`recall` takes back what was leased before it, and nothing else would ever return a lease that is made after it.
"""
_TWICE: Final = _LATER | {"recall", "sweep", "alter", "steer", "open"}
"""Calls that the contract lets anybody repeat."""
Call = Callable[[], Awaitable[Any]]
_WORKERS: Final = "worker"
_SELDOM: Final = 0.2
"""The share of cancellations that come about: each one ends a whole worker."""


class Weather:
    """What goes wrong between all processes and the store.

    Args:
        chance: decides; nothing else may draw from it.
        share: of the calls that go wrong.
        kinds: how they do.
        latest: seconds by which an answer, or a belated call, is late at most.
        script: calls that go wrong for certain, by their number in the whole run, the first being 1.
        note: told of each fault.

    Attributes:
        calls: how many calls were made so far.
        away: the store cannot be reached at all.
        calm: nothing goes wrong any more but what the script says.
        over: nothing goes wrong any more, and nobody counts.
        last: when something went wrong for the last time.
    """

    def __init__(
        self,
        chance: random.Random,
        *,
        share: float,
        kinds: tuple[Trouble, ...],
        latest: float,
        script: Mapping[int, Trouble],
        note: Callable[[Fact], None],
    ) -> None:
        self._chance = chance
        self._share = share
        self._kinds = kinds
        self._latest = latest
        self._script = script
        self._note = note
        self._late: dict[asyncio.Task[None], None] = {}
        self._cancelled: set[str] = set()
        self._going: dict[str, Process | None] = {}
        self.calls = 0
        self.away = False
        self.calm = False
        self.over = False
        self.last = 0.0

    def next(self, call: str) -> Trouble | None:
        """How the call that is about to be made goes wrong, if it does."""
        trouble = self._next(call)
        if trouble is not None:
            self._spoilt()
        return trouble

    def _next(self, call: str) -> Trouble | None:
        if self.over:
            return None
        self.calls += 1
        told = self._script.get(self.calls)
        if told is not None:
            return told if fits(told, call, _here()) else None
        if self.calm:
            return None
        if self.away:
            return "refused"
        if not self._kinds or self._chance.random() >= self._share:
            return None
        drawn = self._chance.choice(self._kinds)
        if drawn == "cancelled" and self._chance.random() >= _SELDOM:
            return None
        return drawn if fits(drawn, call, _here()) else None

    def _spoilt(self) -> None:
        self.last = asyncio.get_running_loop().time()

    def delay(self) -> float:
        """Seconds by which something is late."""
        return self._chance.random() * self._latest

    def either(self) -> bool:
        """Toss a coin."""
        return self._chance.random() < 0.5

    def cancelling(self) -> None:
        """A call of the process that runs now is about to be cancelled."""
        self._cancelled.add(_here())

    def has_cancelled(self, process: str) -> bool:
        """Whether a call of the process of this name was cancelled."""
        return process in self._cancelled

    @contextlib.contextmanager
    def told(self, call: str, trouble: Trouble) -> Iterator[None]:
        """Write down a fault: its beginning, and its end if its process is still there by then."""
        fault = Fault(phase="begin", name=f"call {self.calls}", what=trouble, target=_here(), call=call)
        self._note(fault)
        self._going[fault.name] = current_process()
        try:
            yield
        finally:
            self._going.pop(fault.name, None)
            self._spoilt()
            self._note(Fault(phase="end", name=fault.name, what=trouble, target=fault.target, call=call))

    def later(self, again: Call) -> None:
        """Have a call made some time from now, by no process: it is on its way, whoever dies meanwhile."""
        task = aio.launch(asyncio.get_running_loop(), self._make(self.delay(), again), contextvars.Context())
        self._late[task] = None
        task.add_done_callback(self._late.pop, context=contextvars.Context())

    async def _make(self, delay: float, again: Call) -> None:
        await aio.sleep(delay)
        with contextlib.suppress(NoriaError):  # nobody hears of it
            await again()

    async def settled(self) -> None:
        """Wait until nothing that went wrong is on its way any more, but to the dead."""
        while self._late or not all(process and process.dead for process in self._going.values()):
            await aio.sleep(self._latest / 10 + 0.01)


class Wire:
    """Stands in for a backend: what is no coroutine method of the contract passes through.

    Every call takes time before and after it acts. So a process can be killed or paused when its call has not been
    made yet, and when it has been made and the answer is on its way.

    Args:
        inner: the backend.
        weather: says what goes wrong.
        chance: draws the times.
        longest: seconds that one way takes at most.
    """

    def __init__(self, inner: Any, weather: Weather, chance: random.Random, longest: float) -> None:
        self._inner = inner
        self._weather = weather
        self._chance = chance
        self._longest = longest
        self._goes: dict[Trouble, Callable[[str, Call], Awaitable[Any]]] = {
            "refused": self._refused,
            "lost": self._lost,
            "unheard": self._unheard,
            "belated": self._belated,
            "slow": self._slow,
            "repeated": self._repeated,
            "cancelled": self._cancelled,
        }

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._over(name, found) if name in CALLS else found

    def _over(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def over(*args: Any, **kwargs: Any) -> Any:
            await self._way()
            trouble = self._weather.next(name)
            if trouble is None:
                reply = await call(*args, **kwargs)
            elif self._weather.away:
                raise Unavailable("the store cannot be reached")
            else:
                with self._weather.told(name, trouble):
                    reply = await self._goes[trouble](name, lambda: call(*args, **kwargs))
            await self._way()
            return reply

        return over

    async def _way(self) -> None:
        await aio.sleep(self._chance.random() * self._longest)

    # -- how it goes wrong ---------------------------------------------------------------------------------

    async def _refused(self, name: str, call: Call) -> Any:
        raise Unavailable(f"the store was not reached: {name} was not done")

    async def _lost(self, name: str, call: Call) -> Any:
        raise Unknown(f"no answer: {name} may be done")

    async def _unheard(self, name: str, call: Call) -> Any:
        await call()
        return await self._lost(name, call)

    async def _belated(self, name: str, call: Call) -> Any:
        self._weather.later(call)
        return await self._lost(name, call)

    async def _slow(self, name: str, call: Call) -> Any:
        reply = await call()
        await aio.sleep(self._weather.delay())
        return reply

    async def _repeated(self, name: str, call: Call) -> Any:
        reply = await call()
        if not _stands(name, reply):
            return reply
        if name in _LATER and self._weather.either():
            self._weather.later(call)
        else:
            await self._way()
            with contextlib.suppress(NoriaError):  # a document that was just written, for one, conflicts
                await call()
        return reply

    async def _cancelled(self, name: str, call: Call) -> Any:
        if self._weather.either():
            await call()
        caller = asyncio.current_task()
        assert caller is not None
        self._weather.cancelling()
        caller.cancel()
        await aio.sleep(self._weather.delay())
        raise AssertionError("whoever is cancelled goes no further")


def fits(trouble: Trouble, call: str, who: str) -> bool:
    """Whether this can happen to this call of this process, without anybody breaking the contract."""
    match trouble:
        case "belated":
            return call in _LATER
        case "repeated":
            return call in _TWICE
        case "cancelled":
            # Whoever else makes calls gives up by itself when it has waited for too long.
            return who.startswith(_WORKERS)
        case _:
            return True


def _stands(name: str, reply: Any) -> bool:
    """Whether a repeat can change nothing: a job that found its unique key taken would be created by a later one."""
    return name != "push" or all(receipt.why != "unique" for receipt in reply)


def _here() -> str:
    process = current_process()
    return process.name if process is not None else "world"
