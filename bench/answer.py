"""The other end of `child.ask`: runs the role that the command line names, and prints its answer as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any


def answer(roles: Mapping[str, Callable[..., Any]]) -> None:
    """Call the role with the question as keyword arguments."""
    role, question = sys.argv[1], json.loads(sys.argv[2])
    print(json.dumps(roles[role](**question)))
