"""Hearing hints for as long as the listener lives, whatever happens to the way they come."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NoReturn

from noria import aio
from noria.backends.contract import Channel, Hint, Hints
from noria.errors import BackendError

log = logging.getLogger("noria.backends")


async def hear(
    hints: Hints,
    channel: Channel,
    heard: Callable[[Hint], None],
    *,
    pause: float,
    meanwhile: str,
    tried: Callable[[], None] = lambda: None,
) -> NoReturn:
    """Hear what comes on a channel, for ever; when listening fails, begin anew after a pause.

    Args:
        hints: a backend that was started.
        channel: what to hear.
        heard: gets each hint.
        pause: seconds between two beginnings.
        meanwhile: what happens while nothing is heard, for the log.
        tried: called whenever listening has begun, or has failed.
    """
    while True:
        try:
            async with hints.listen([channel]) as coming:
                tried()
                async for hint in coming:
                    heard(hint)
        except BackendError as error:
            log.warning("%s, since listening failed: %s", meanwhile, error)
        tried()
        await aio.sleep(pause)
