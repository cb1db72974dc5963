"""What a history tells of a run as a whole, and the base of all its facts."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

End = Literal["ok", "fail", "info"]
"""How a call ended: done; certainly not done; may be done."""


class Told(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", gc=False):
    """Base of all facts."""


class About(Told, frozen=True, tag="about"):
    """How the run was made, so that it can be made again. `command` is the line to rerun it."""

    seed: str = ""
    options: str = ""
    command: str = ""


class Fault(Told, frozen=True, tag="fault"):
    """A fault begins or ends.

    Attributes:
        name: pairs the beginning with the end.
        what: "kill", "pause", "cut", "restart", "clock", ...
        target: the process or peer that it was done to; "" for all.
        call: the one call of the backend that it was done to, which `target` had made; "" for whatever it does.
    """

    phase: Literal["begin", "end"]
    name: str
    what: str
    target: str = ""
    call: str = ""


class Probed(Told, frozen=True, tag="probe"):
    """A job is about to be enqueued that only the worker `target` can run, which has nothing else to do."""

    id: str
    target: str


class Left(Told, frozen=True, tag="left"):
    """What a run left behind: `count` things of the kind `what` above where it began."""

    what: str
    count: int
