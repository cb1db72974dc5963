"""A command that waits outlasts a front or a backend that is away for a moment, and says so once."""

from __future__ import annotations

import pytest

from noria.cli.exits import NoAnswer
from noria.cli.steady import PATIENCE, Steady
from noria.errors import JobNotFound, Unavailable, Unknown
from tests.support.manual import ManualClock


class Outage:
    """Somebody who is away for so many looks, and what was said meanwhile."""

    def __init__(self, *errors: Exception) -> None:
        self.clock = ManualClock()
        self.left = list(errors)
        self.said: list[str] = []
        self.steady = Steady(self.said.append, self.said.append, self.clock, self._sleep)

    async def look(self) -> str:
        """What is to be seen, or why nothing is."""
        if self.left:
            raise self.left.pop(0)
        return "seen"

    async def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)


async def test_what_is_there_is_seen_without_a_word() -> None:
    outage = Outage()

    assert await outage.steady.keep(outage.look) == "seen"
    assert outage.said == []


async def test_an_outage_is_told_once_and_its_end_too() -> None:
    outage = Outage(Unavailable("gone"), Unknown("lost"), NoAnswer("silent"), Unavailable("gone"))

    assert await outage.steady.keep(outage.look) == "seen"
    assert outage.said == ["gone; trying again for 60 s", "it answers again"]


async def test_each_outage_is_told() -> None:
    outage = Outage()
    for _ in range(2):
        outage.left = [Unavailable("gone")]
        await outage.steady.keep(outage.look)

    assert len(outage.said) == 4


@pytest.mark.parametrize(("within", "seconds"), [(PATIENCE, 60), (600.0, 60), (5.0, 5)])
async def test_what_stays_away_is_given_up_after_a_while(within: float, seconds: int) -> None:
    outage = Outage(*[Unavailable("the front cannot be reached")] * 10_000)
    began = outage.clock.monotonic()

    with pytest.raises(Unavailable, match=rf"the front cannot be reached, for {seconds} s now"):
        await outage.steady.keep(outage.look, within)

    assert seconds <= outage.clock.monotonic() - began < seconds + 3


async def test_whatever_else_is_wrong_is_told_at_once() -> None:
    outage = Outage(Unavailable("gone"), JobNotFound("no such job"))

    with pytest.raises(JobNotFound):
        await outage.steady.keep(outage.look)
