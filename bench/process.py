"""Memory and CPU time of a process, through psutil."""

from __future__ import annotations

import importlib.util

MISSING = "psutil is not installed: memory and CPU time of workers were not measured"


def can_look() -> bool:
    """Whether psutil is there."""
    return importlib.util.find_spec("psutil") is not None


def resident(pid: int) -> float:
    """Resident memory in MiB."""
    import psutil

    size: int = psutil.Process(pid).memory_info().rss
    return size / 1024 / 1024


def resident_family(pid: int) -> float:
    """Resident memory in MiB of a process and all that it started, with what they share counted once."""
    import psutil

    first = psutil.Process(pid)
    family = [first, *first.children(recursive=True)]
    sizes = [each.memory_full_info() for each in family]
    largest = max(sizes, key=lambda size: size.rss)
    shared_once = largest.rss - largest.uss + sum(size.uss for size in sizes)
    return float(shared_once) / 1024 / 1024


def cpu_seconds(pid: int) -> float:
    """CPU time used so far, in user and system mode."""
    import psutil

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
