"""Processor time of a process of this machine, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


def processor_time(pid: int) -> float:
    """Seconds that the first thread of a process has run, to the nanosecond. Linux only."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
