"""What the kernel says about a process: so that a deadline can be held against the worker, and not the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Use(NamedTuple):
    """Of all living threads of a process, in seconds.

    Attributes:
        ran: time on a processor.
        starved: time for which a thread was ready to run, and no processor was free.
    """

    ran: float
    starved: float


def use_of(pid: int) -> Use:
    """What a process has had and missed so far; nothing of a process that is gone."""
    rows = list(_rows(pid))
    return Use(sum(ran for ran, _ in rows) / 1e9, sum(starved for _, starved in rows) / 1e9)


def _rows(pid: int) -> Iterator[tuple[int, int]]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            ran, starved, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
        except OSError:
            continue  # a thread may end, and a kernel may not count
        yield int(ran), int(starved)


def resident_of(pid: int) -> int:
    """Bytes of memory that a process has in use."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"process {pid} says nothing about its memory")
