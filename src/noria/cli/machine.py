"""The machine and its Python, as a benchmark must name them."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path


def describe() -> dict[str, str | int]:
    """What numbers depend on: processor, cores and versions."""
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "noria": metadata.version("noria"),
        "python": platform.python_version(),
        "loop": f"uvloop {metadata.version('uvloop')}" if find_spec("uvloop") else "asyncio",
    }


def processor() -> str:
    """The model of the processor, as the system tells it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
