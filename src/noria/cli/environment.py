"""The variables by which processes of one program talk, and what of the environment a worker process gets."""

from __future__ import annotations

import os
from typing import Final

API_KEY: Final = "NORIA_API_KEY"
"""What `app.config` reads; no module of the supervisor may import the application, and a backend with it."""
TETHER: Final = "NORIA_TETHER"
"""Where a supervisor tells a process of its end of the line, as "file:life"."""
CHILD: Final = "NORIA_CHILD"
"""Where it tells which of its processes this is, from 1."""
FRONT: Final = "NORIA_FRONT"
"""Where it tells the URL of the front beside the workers, and "key" if that has one; not set if there is none."""

WITHHELD: Final = frozenset({API_KEY, "NORIA_KEY_FILE"})
"""What processes with handlers do not get: it is for fronts, and for the commands of people (decision 0027)."""


def passed() -> dict[str, str]:
    """The environment of this process, as one with handlers gets it."""
    return {name: value for name, value in os.environ.items() if name not in WITHHELD}


def is_supervised() -> bool:
    """Whether a supervisor started this process, whose own command line was asked and answered."""
    return TETHER in os.environ
