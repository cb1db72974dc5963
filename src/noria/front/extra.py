"""The packages of the extra `serve`, without which there is no front."""

from __future__ import annotations

import importlib.util
from typing import Final

PACKAGES: Final = ("starlette", "uvicorn", "httptools", "jsonschema_rs")


def missing() -> str | None:
    """The first of them that is not installed; imports none."""
    return next((name for name in PACKAGES if importlib.util.find_spec(name) is None), None)
