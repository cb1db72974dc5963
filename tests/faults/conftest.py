"""Every fault test gets a fleet of its own: an empty store, and no worker yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet
from tests.faults.servers import KINDS, Server, server_of


@pytest.fixture
async def fleet(tmp_path: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp))
    fleet = Fleet(tmp_path, short_tmp)
    try:
        async with fleet.shop:
            yield fleet
    finally:
        fleet.close()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that the test may break, once for each kind."""
    with server_of(request.param) as server:
        yield server


@pytest.fixture
async def remote(
    server: Server, tmp_path: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fleet]:
    """A fleet whose store is on that server."""
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp))
    fleet = Fleet(tmp_path, short_tmp, server.url)
    try:
        async with fleet.shop:
            yield fleet
    finally:
        fleet.close()
