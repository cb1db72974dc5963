"""Which versions of its packages a contestant's environment has."""

from __future__ import annotations

import json
import subprocess
from typing import Final

from bench.compare.contestant import Contestant

_ASK: Final = (
    "import json, sys; from importlib.metadata import version; "
    "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
)


def of(side: Contestant) -> dict[str, str]:
    """By distribution."""
    command = [side.interpreter, "-c", _ASK, *side.distributions]
    found: dict[str, str] = json.loads(
        subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    )
    return found
