"""The contestants."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from bench.side import Side

NORIA: Final = Side(
    name="noria",
    needs="noria",
    worker=(str(Path(sys.executable).with_name("noria")), "--quiet", "worker", "bench.noria_side.app:app"),
    slots="--concurrency",
)

HUEY: Final = Side(name="huey", needs="huey", worker=(sys.executable, "-m", "bench.huey_side.worker"))

SIDES: Final = (NORIA, HUEY)
