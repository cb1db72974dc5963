"""What readers of event streams tell: when they begin to follow a job, what they see, and how it ends."""

from __future__ import annotations

from typing import Literal

from noria.testing.told import Told

Close = Literal["closed", "known", "missing", "refused", "cut", "left"]
"""How a stream ended: closed by the front; nothing to tell, since the reader knows the end; there is no such job; the
front could not; cut off in the middle, as by a front that died; left by the reader."""


class Followed(Told, frozen=True, tag="stream.open"):
    """A reader asks for the events of a job.

    Attributes:
        stream: numbers the streams of a run.
        reader: who asks; one reader may follow a job through several streams, one after the other.
        after: the last version of the job that the reader has seen; 0 if none.
    """

    id: str
    stream: int
    reader: str
    after: int = 0


class Seen(Told, frozen=True, tag="event.seen"):
    """A reader sees an event. `version` and `state` are those of the job in it; 0 and None if there is none."""

    id: str
    stream: int
    event: str
    version: int = 0
    state: int | None = None


class Unfollowed(Told, frozen=True, tag="stream.end"):
    """A stream has ended."""

    id: str
    stream: int
    how: Close
