"""A namespace is dropped: for whoever made it for a moment."""

from __future__ import annotations

from typing import Any, Final

from hiredis import ReplyError

from noria.backends.redis import talk
from noria.backends.redis.faults import refused
from noria.backends.redis.settings import Settings
from noria.backends.redis.tls import no_way_in
from noria.backends.redis.wire import Broken, Wire, connect

_PORTION: Final = 1000


async def drop(settings: Settings) -> None:
    """Delete all keys of a namespace, and no others.

    Raises:
        ConfigError, Unavailable: it cannot be; a part of them may be gone.
    """
    wire = None
    try:
        wire = await connect(settings)
        await wire.converse(talk.greet(settings), settings.silence)
        await _drop(wire, settings)
    except (OSError, Broken) as error:
        raise no_way_in(settings.address, error) from error
    finally:
        if wire is not None:
            wire.close()


async def _drop(wire: Wire, settings: Settings) -> None:
    # A namespace has no letter that is special in a pattern.
    pattern, cursor = settings.address.prefix + b"*", b"0"
    while True:
        cursor, found = await _ask(wire, settings, "SCAN", cursor, "MATCH", pattern, "COUNT", _PORTION)
        if found:
            await _ask(wire, settings, "UNLINK", *found)
        if cursor == b"0":
            return


async def _ask(wire: Wire, settings: Settings, *words: bytes | str | int) -> Any:
    (answer,) = await wire.exchange([words], settings.silence)
    if isinstance(answer, ReplyError):
        raise refused(answer, settings.address)
    return answer
