"""Who can take part: an environment, a server, and a client that understands the server's URL."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.compare import servers
from bench.compare.contestant import ENVIRONMENTS, Contestant
from noria.app.connect import connect
from noria.clock import SystemClock
from noria.errors import ConfigError
from noria.ids import IdSource


def able(wanted: Sequence[Contestant], folder: Path) -> tuple[list[Contestant], list[str]]:
    """Those of the wanted that can take part, and in words why the others cannot."""
    sides, notes = [], []
    for side in wanted:
        why = _missing(side, folder)
        if why is None:
            sides.append(side)
        else:
            notes.append(f"{side.title} takes no part: {why}")
    return sides, notes


def _missing(side: Contestant, folder: Path) -> str | None:
    if not side.here:
        return f"its environment has not been made (make {ENVIRONMENTS.name}/{side.environment}/.installed)"
    return servers.missing(side.server) or (_unsupported(side, folder) if side.is_noria else None)


def _unsupported(side: Contestant, folder: Path) -> str | None:
    """What Noria says to the URL of such a server; nothing is opened."""
    url = {
        "redis": "redis://127.0.0.1/0",
        "postgres": "postgresql://noria@127.0.0.1/postgres",
        "sqlite": f"sqlite:///{Path(tempfile.mkdtemp(dir=folder)) / 'store.db'}",
    }[side.server]
    clock = SystemClock()
    try:
        connect(url, clock, IdSource(clock))
    except ConfigError as error:
        return str(error)
    return None
