"""Patterns that answers of people must match. Nobody can say how long `re` takes: it runs where it can be ended."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

PATIENCE: Final = 2.0
"""Seconds that a process may take to start and to compare."""
_PROGRAM: Final = """\
import json, re, sys
pattern, text = json.loads(sys.stdin.buffer.read())
sys.exit(0 if re.search(pattern, text) else 3)
"""
_NO: Final = 3


def matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found in a text; None if that could not be said in time.

    Blocks for as long as a process takes to start. A pattern that backtracks can take years for 40 characters, and
    nothing else in its process goes on meanwhile.
    """
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", _PROGRAM], stdin=subprocess.PIPE)
    try:
        child.communicate(json.dumps([pattern, text]).encode(), timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    finally:
        child.kill()
        child.wait()
    return None if child.returncode not in (0, _NO) else child.returncode == 0
