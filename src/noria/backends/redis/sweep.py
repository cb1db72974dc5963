"""Sweeping: everything that time moves, in bounded portions. Any number of sweepers may run at once."""

from __future__ import annotations

from dataclasses import dataclass

from noria.backends.contract import Swept
from noria.backends.redis import heirs, notes, passage, writes
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.flow import KEPT, LEEWAY
from noria.backends.redis.sessions import give_back
from noria.backends.redis.settings import Settings
from noria.backends.redis.verdicts import finished
from noria.backends.units import millis
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.state import State


@dataclass(slots=True)
class Sweep(Call):
    """The call."""

    limit: int

    def steps(self, settings: Settings) -> Steps:
        """Move what time has moved, at most `limit` rows of each kind."""
        limit = max(1, min(self.limit, MAX_BATCH))
        moved, look, _, untold = yield [
            Request("sweep", [limit, *passage.words(settings)]),
            _prune(limit, settings),
            notes.prune(limit),
            heirs.untold(settings),
        ]
        (promoted, expired), pruned = moved, look[0]
        if untold or expired:
            (untold,) = yield [heirs.request(settings, limit)]
        owing, parked = look[2].split(), look[3]
        returned = yield from _return(owing, limit, settings)
        unparked = (yield from _give_up(limit, settings)) if parked else 0
        if owing or parked:
            (look,) = yield [_prune(0, settings)]
        _, more, owing, parked, next_due = look
        return Swept(
            promoted,
            returned,
            expired,
            unparked,
            pruned,
            more=bool(more or owing or parked or untold),
            next_due=int(next_due) / 1000 if next_due else None,
        )


def _prune(limit: int, settings: Settings) -> Request:
    """What drops records; with a limit of none it only says whether anything is left to move."""
    return Request(
        "prune",
        [
            limit,
            settings.keep_succeeded_at_most,
            millis(settings.keep_dead),
            KEPT,
            millis(settings.park_for),
            LEEWAY,
        ],
    )


def _return(owing: list[bytes], limit: int, settings: Settings) -> Steps:
    """Give back jobs of ended sessions, one session after the other."""
    returned = 0
    for session in owing:
        if returned < limit:
            returned += yield from give_back(SessionId(int(session)), limit - returned, settings)
    return returned


def _give_up(limit: int, settings: Settings) -> Steps:
    """Fail jobs of tasks that no worker has known for too long."""
    failure = passage.given_up(settings)
    (answer,) = yield [Request("parked", [millis(settings.park_for), limit])]
    ends = [
        finished(row, row.head, State.FAILED, failure, now=int(answer[0]), settings=settings)
        for row in writes.seen(answer[1:])
        if row.head is not None
    ]
    told = (yield from heirs.write(writes.requests(ends), settings)) if ends else ""
    return told.count(writes.DONE)
