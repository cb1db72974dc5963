"""A hint that somebody sends by hand."""

from __future__ import annotations

from dataclasses import dataclass

from noria.backends.contract import Channel
from noria.backends.redis.call import Call, Steps, command
from noria.backends.redis.settings import Settings


@dataclass(slots=True)
class Say(Call):
    """The call."""

    channel: Channel
    payload: bytes

    def steps(self, settings: Settings) -> Steps:
        """Send it to whoever listens."""
        yield [command("PUBLISH", settings.key(f"hint:{self.channel}"), self.payload)]
        return None
