"""Every fault test gets a fleet of its own: an empty store, and no worker yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet


@pytest.fixture
async def fleet(tmp_path: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp))
    fleet = Fleet(tmp_path, short_tmp)
    try:
        async with fleet.shop:
            yield fleet
    finally:
        fleet.close()
