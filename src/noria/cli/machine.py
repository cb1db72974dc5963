"""The machine and the libraries, as a benchmark must name them."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import apsw


def describe(store: Path) -> dict[str, str | int]:
    """What the numbers depend on: processor, cores, versions, and how the store writes."""
    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        pragmas = {name: connection.pragma(name) for name in ("journal_mode", "page_size")}
    finally:
        connection.close()
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "noria": metadata.version("noria"),
        "python": platform.python_version(),
        "loop": f"uvloop {metadata.version('uvloop')}" if find_spec("uvloop") else "asyncio",
        "sqlite": apsw.sqlite_lib_version(),
        **pragmas,
    }


def processor() -> str:
    """The model of the processor, as the system tells it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
