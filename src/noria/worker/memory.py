"""How much memory a process holds."""

from __future__ import annotations

import resource
import sys
from typing import Final

_PAGE: Final = resource.getpagesize()
_UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the kernel counts the peak: getrusage(2) of macOS and of Linux."""


def resident() -> int:
    """Bytes of memory that this process holds now; where no /proc tells, the most that it ever held."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return peak(resource.getrusage(resource.RUSAGE_SELF))


def peak(use: resource.struct_rusage) -> int:
    """The most that a process ever held, in bytes, as the kernel tells its parent."""
    return use.ru_maxrss * _UNIT
