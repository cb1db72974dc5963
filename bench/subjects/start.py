"""How long it takes to import the package, and from starting a worker process to the end of its first job."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from bench.child import ROOT
from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena
from bench.tally import FIRST

IMPORT: Final = Metric("import.ms", "Import the package", "ms")
START: Final = Metric("start.seconds", "Start of a worker process to the end of its first job", "s")

_TIMED: Final = """
import time
start = time.perf_counter()
import {0}
print((time.perf_counter() - start) * 1000)
"""


class Imports:
    """`import noria`, or `import huey`, in a new interpreter with compiled files in place."""

    name = "import"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Import it a few times and take the median."""
        command = [sys.executable, "-c", _TIMED.format(side.needs)]
        # The first one compiles, and brings the files into memory.
        found = [
            float(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
            for _ in range(arena.scale.imports + 1)
        ][1:]
        return [Reading(IMPORT, statistics.median(found), len(found))]


class Start:
    """A job waits; a worker process is started as a user would start it."""

    name = "start"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Start one worker."""
        store = arena.store()
        path, tally = arena.tally()
        side.enqueue(store, 1)
        with side.working(store, path) as worker:
            tally.wait_for(1, 60, "first job")
        return [Reading(START, (tally.numbers[FIRST] - worker.started) / 1e9, 1)]
