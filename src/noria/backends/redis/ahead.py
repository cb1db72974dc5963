"""The place of a job in its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.settings import Settings
from noria.ids import Id


@dataclass(slots=True)
class Ahead(Call):
    """The call."""

    id: Id
    most: int
    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """How many jobs stand before it, counted to `most`; None if it is not queued."""
        (found,) = yield [Request("ahead", [self.id])]
        return None if found is None else min(int(found), max(1, self.most))
