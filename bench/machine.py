"""What the numbers were measured on, without names of hosts or paths."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any, Final

_PACKAGES: Final = ("apsw", "uvloop", "msgspec", "huey")


def describe() -> dict[str, Any]:
    """CPU, memory, kernel and versions."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: _version(name) for name in _PACKAGES},
    }


def file_system(folder: Path) -> str:
    """The type of the file system that a folder is on, as the kernel names it."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    where = folder.resolve()
    above = [(len(point), kind) for _, point, kind, *_ in mounts if where.is_relative_to(point)]
    return max(above)[1] if above else "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
