"""Jobs that wait for others: telling them of the ends of those.

An end is noted in the script that makes it, and passed on by another that follows at once, to the first thousand that
wait; a sweep tells the rest, and whoever was not told because a process died in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from noria.backends.redis import writes
from noria.backends.redis.call import Request, Steps, command
from noria.backends.redis.settings import Settings
from noria.backends.units import millis
from noria.model.limits import MAX_BATCH


def request(settings: Settings, limit: int = MAX_BATCH) -> Request:
    """What tells those that wait, so many at most; the answer is 1 if some are left."""
    return Request("heirs", [limit, millis(settings.keep_succeeded), millis(settings.poll)])


def untold(settings: Settings) -> Request:
    """What says whether there are ends to tell of."""
    return command("LLEN", settings.key("untold"))


def write(requests: Sequence[Request], settings: Settings, *, whereabouts: bool = False) -> Steps:
    """Ask `writes.requests`, and tell those that wait for what has ended by it; gives the letters, or `whereabouts`."""
    answers = yield list(requests)
    if writes.are_awaited(answers):
        yield [request(settings)]
    return writes.whereabouts(answers) if whereabouts else writes.letters(answers)
