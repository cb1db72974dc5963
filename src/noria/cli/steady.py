"""Looks that outlast what they look at: a front that restarts, a backend that fails over.

Only for what may be repeated, by a command that waits for something; whoever asks once is told at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from noria import aio
from noria.clock import Clock, SystemClock
from noria.errors import BackendError, Unavailable

T = TypeVar("T")

PATIENCE: Final = 60.0
"""Seconds after which what is away is taken to stay away."""
_FIRST: Final = 0.1
_LONGEST: Final = 2.0


class Steady:
    """Looks again while nobody answers.

    Args:
        tell: hears that nobody answers, once each time that this begins.
        note: hears that somebody does again.
        sleep: waits for so many seconds.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        note: Callable[[str], None],
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = aio.sleep,
    ) -> None:
        self._tell = tell
        self._note = note
        self._clock = clock or SystemClock()
        self._sleep = sleep

    async def keep(self, look: Callable[[], Awaitable[T]], within: float = PATIENCE) -> T:
        """What is seen, once somebody answers.

        Args:
            within: seconds for which nobody may answer, if that is less than `PATIENCE`.

        Raises:
            Unavailable: nobody has in that time.
            NoriaError: whatever `look` raises, but for a backend or a front that is away.
        """
        patience = min(within, PATIENCE)
        began: float | None = None
        pause = _FIRST
        while True:
            try:
                found = await look()
            except BackendError as error:
                now = self._clock.monotonic()
                if began is None:
                    began = now
                    self._tell(f"{error}; trying again for {patience:.3g} s")
                if now - began >= patience:
                    raise Unavailable(f"{error}, for {patience:.3g} s now") from error
            else:
                if began is not None:
                    self._note("it answers again")
                return found
            await self._sleep(pause)
            pause = min(2 * pause, _LONGEST)
