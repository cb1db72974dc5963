"""A front beside a worker: when one of them ends, so does the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from noria.app.application import Noria
from noria.cli.front import Beside


class Breaks:
    """A server that answers, and fails when it is told to."""

    def __init__(self) -> None:
        self.breaking = asyncio.Event()
        self.asked: list[str] = []

    async def run(self, ready: Callable[[str], None]) -> None:
        ready("http://127.0.0.1:1")
        await self.breaking.wait()
        if not self.asked:
            raise OSError("its socket is gone")

    def stop(self) -> None:
        self.asked.append("stop")
        self.breaking.set()

    def cut(self) -> None:
        self.asked.append("cut")
        self.breaking.set()


def test_when_the_front_fails_the_worker_drains_and_the_failure_is_raised() -> None:
    async def story() -> None:
        server: Any = Breaks()
        drained = asyncio.Event()
        with pytest.raises(OSError, match="its socket is gone"):
            async with Beside(server).open(Noria("sqlite:///x.db"), drained.set):
                server.breaking.set()
                await asyncio.wait_for(drained.wait(), 5)

    asyncio.run(story())


def test_when_the_worker_has_ended_the_front_is_stopped() -> None:
    async def story() -> list[str]:
        server: Any = Breaks()
        async with Beside(server).open(Noria("sqlite:///x.db"), lambda: None) as front:
            assert front.url == "http://127.0.0.1:1"
        found: list[str] = server.asked
        return found

    assert asyncio.run(story()) == ["stop"]


def test_asked_again_the_front_is_cut() -> None:
    async def story() -> list[str]:
        server: Any = Breaks()
        async with Beside(server).open(Noria("sqlite:///x.db"), lambda: None) as front:
            front.drain()
            front.drain()
        found: list[str] = server.asked
        return found

    assert asyncio.run(story()) == ["stop", "cut"]
