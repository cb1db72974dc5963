"""What time alone does to jobs that do not run, in the words of the scripts that do it."""

from __future__ import annotations

from typing import Final

import msgspec

from noria.backends.redis.call import Word
from noria.backends.redis.settings import Settings
from noria.backends.units import millis
from noria.model.outcome import Failure

_EXPIRED: Final = msgspec.json.encode(Failure.of("expired", "it was not started by the time it had to be"))
_LATE: Final = msgspec.json.encode(Failure.of("deadline", "its deadline passed before it could end"))
_OLD: Final = msgspec.json.encode(
    Failure.of("max_age", "it waited longer than its queue allows without having been started")
)


def words(settings: Settings) -> tuple[Word, ...]:
    """The failures of jobs that expire, miss their deadline and are too old, and for how long these are kept."""
    return _EXPIRED, _LATE, _OLD, millis(settings.keep_succeeded)


def given_up(settings: Settings) -> Failure:
    """The failure of a job whose task no worker has known for too long."""
    return Failure.of(
        "unknown_task",
        f"no worker knew its task within {settings.park_for:g} seconds: "
        "start one that does, then retry the job",
    )
