"""Steering: what can be steered, and how, and how it stands then."""

from __future__ import annotations

from msgspec import Struct

from noria.errors import InvalidOption, shown
from noria.model.groups import Closed, GroupRef, Need, Rule
from noria.model.names import check_name, check_text
from noria.model.queue import NO_LIMITS, Limit, QueueLimits


class FamilyRef(Struct, frozen=True, tag="family"):
    """A family of groups, as the target of steering."""

    family: str

    def __post_init__(self) -> None:
        check_name("family", self.family)


class ResourceRef(Struct, frozen=True, tag="resource"):
    """A resource, as the target of steering."""

    name: str

    def __post_init__(self) -> None:
        check_name("resource", self.name.removeprefix("task:"))


class QueueRef(Struct, frozen=True, tag="queue"):
    """A queue, as the target of steering."""

    queue: str

    def __post_init__(self) -> None:
        check_name("queue", self.queue)


class Pause(Struct, frozen=True, tag="pause"):
    """Lease no more jobs of a queue; what runs goes on.

    Attributes:
        reason, by: why and by whom, for people; at most 500 and 128 printable characters.
        until: seconds since the epoch at which the pause is over by itself; None lasts until `Resume`.
    """

    reason: str = ""
    by: str = ""
    until: float | None = None

    def __post_init__(self) -> None:
        _check_words(self)


class Resume(Struct, frozen=True, tag="resume"):
    """Lease jobs of a queue again."""


class Close(Struct, frozen=True, tag="close"):
    """Start no more jobs of a group; what runs goes on. The fields are as those of `Pause`."""

    reason: str = ""
    by: str = ""
    until: float | None = None

    def __post_init__(self) -> None:
        _check_words(self)


class Open(Struct, frozen=True, tag="open"):
    """Start jobs of a group again."""


def _check_words(change: Pause | Close) -> None:
    for field, text, limit in (("reason", change.reason, 500), ("by", change.by, 128)):
        if text:
            check_text(field, text, limit)
    if change.until is not None and not abs(change.until) < 1e12:
        raise InvalidOption(f"until must be a time, not {shown(change.until)}", field="until")


class Paused(Struct, frozen=True):
    """A pause that holds. `since`: when it began; a repeated pause changes its words, and not its beginning."""

    reason: str
    by: str
    since: float
    until: float | None = None


Target = QueueRef | GroupRef | FamilyRef | ResourceRef
"""What can be steered."""

Steering = Pause | Resume | Limit | Close | Open | Rule | Need
"""How: a queue by `Pause` and `Resume`, a group by `Close` and `Open`, a family by a `Rule`, a resource by a `Need`."""


class Steered(Struct, frozen=True):
    """How the target stands now.

    Attributes:
        paused: of a queue; None if its jobs are leased. limits: those that hold.
        closed: of a group; None if its jobs are started.
    """

    paused: Paused | None = None
    limits: QueueLimits = NO_LIMITS
    closed: Closed | None = None
