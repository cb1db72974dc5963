"""What a server tells of itself to whoever looks for faults; nothing is changed, and nothing refused."""

from __future__ import annotations

import statistics
from typing import Any, Final

from hiredis import ReplyError
from msgspec import Struct

from noria.backends.redis import talk
from noria.backends.redis.checks import RIGHTS, Told
from noria.backends.redis.faults import forbidden
from noria.backends.redis.settings import Settings
from noria.backends.redis.tls import no_way_in
from noria.backends.redis.wire import Broken, Wire, connect
from noria.clock import Clock
from noria.errors import ConfigError

_CALLS: Final = 9
"""Calls whose time is taken."""


class Look(Struct, frozen=True):
    """A server.

    Attributes:
        told: what INFO says.
        appendfsync: how often it syncs its append-only file; None if it does not let us ask.
        forbidden: what its access rules forbid this user of what Noria needs, and the remedy; empty if nothing.
        epoch: whether the namespace is in use.
        ahead: seconds by which its clock is ahead of ours.
        latency: seconds that a call takes, the median of a few.
    """

    told: Told
    appendfsync: str | None
    forbidden: str
    epoch: bool
    ahead: float
    latency: float


async def look(settings: Settings, clock: Clock) -> Look:
    """Look at a server.

    Raises:
        ConfigError, Unavailable: it does not let us in, or is not there.
    """
    wire = None
    try:
        wire = await connect(settings)
        await wire.converse(talk.greet(settings), settings.silence)
        return await _look(wire, settings, clock)
    except (OSError, Broken) as error:
        raise no_way_in(settings.address, error) from error
    finally:
        if wire is not None:
            wire.close()


async def _look(wire: Wire, settings: Settings, clock: Clock) -> Look:
    took = []
    for _ in range(_CALLS):
        began = clock.monotonic()
        await wire.exchange([("PING",)], settings.silence)
        took.append(clock.monotonic() - began)
    before = clock.wall()
    (time,) = await wire.exchange([("TIME",)], settings.silence)
    ours = (before + clock.wall()) / 2
    asked: list[Any] = await wire.exchange(
        [("INFO",), ("CONFIG", "GET", "appendfsync"), ("EXISTS", settings.key("epoch"))], settings.silence
    )
    told, config, epoch = asked
    return Look(
        told=Told("" if isinstance(told, ReplyError) else told.decode()),
        appendfsync=None if isinstance(config, ReplyError) or len(config) < 2 else config[1].decode(),
        forbidden=await _forbidden(wire, settings, clock),
        epoch=epoch == 1,
        ahead=0.0 if isinstance(time, ReplyError) else int(time[0]) + int(time[1]) / 1e6 - ours,
        latency=statistics.median(took),
    )


async def _forbidden(wire: Wire, settings: Settings, clock: Clock) -> str:
    (answer,) = await wire.converse(talk.ask([RIGHTS], settings, talk.Epoch(str), clock), settings.silence)
    if isinstance(answer, ConfigError):
        return str(answer)
    # A server that is too old to tell answers with another error.
    missing = [name.decode() for name in answer] if isinstance(answer, list) else []
    return forbidden(settings.address, missing) if missing else ""
