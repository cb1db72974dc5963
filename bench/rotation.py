"""The runner: every subject, every contestant in turn, as often as asked; each time in a new folder."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import process
from bench.child import BenchError
from bench.figures import Figures, Reading
from bench.scale import Scale
from bench.side import Side
from bench.subject import Arena, Subject

_NEED_PSUTIL = ("idle", "delayed")


@dataclass(slots=True)
class Rotation:
    """A whole run.

    Attributes:
        sides: the contestants that are there.
        subjects: what to measure.
        scale: how much.
        repeat: how often.
        folder: on the file system that is to be measured.
        figures: what was found.
        notes: what was left out, and why.
        faults: measurements that went wrong.
        loads: load average before each repetition, and at the end.
    """

    sides: Sequence[Side]
    subjects: Sequence[Subject]
    scale: Scale
    repeat: int
    folder: Path
    figures: Figures = field(default_factory=Figures)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Measure everything. In each repetition another contestant begins."""
        with self._folders() as (lasting, runtime):
            for repetition in range(self.repeat):
                self.loads.append(os.getloadavg()[0])
                self._say(f"repetition {repetition + 1} of {self.repeat}, load {self.loads[-1]:.2f}")
                for subject in self._possible():
                    for side in self._turns(subject, repetition):
                        self._measure(subject, side, repetition, lasting, runtime)
            self.loads.append(os.getloadavg()[0])

    def _possible(self) -> list[Subject]:
        blind = not process.can_look()
        wanted = [each for each in self.subjects if not (blind and each.name in _NEED_PSUTIL)]
        if len(wanted) < len(self.subjects) and process.MISSING not in self.notes:
            self.notes.append(process.MISSING)
        return wanted

    def _turns(self, subject: Subject, repetition: int) -> list[Side]:
        able = [side for side in self.sides if side.name in subject.sides]
        first = repetition % len(able) if able else 0
        return able[first:] + able[:first]

    def _measure(self, subject: Subject, side: Side, repetition: int, lasting: Path, runtime: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix=f"{subject.name}-", dir=self.folder))
        began = time.monotonic()
        try:
            readings = subject.measure(side, Arena(folder, lasting, runtime, self.scale))
        except (BenchError, TimeoutError) as error:
            why = _short(error).replace(str(folder), "")
            self.faults.append(f"{subject.name}, {side.name}, repetition {repetition + 1}: {why}")
            self._say(f"  {subject.name:9} {side.name:14} FAILED: {error}")
            return
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for reading in readings:
            self.figures.add(side.name, repetition, reading)
        self._say(_line(subject, side, readings, time.monotonic() - began))

    @contextmanager
    def _folders(self) -> Iterator[tuple[Path, Path]]:
        self.folder.mkdir(parents=True, exist_ok=True)
        lasting = Path(tempfile.mkdtemp(prefix="lasting-", dir=self.folder))
        # Sockets need a short path, and no particular file system.
        runtime = Path(tempfile.mkdtemp(prefix="bench-"))
        try:
            yield lasting, runtime
        finally:
            shutil.rmtree(lasting, ignore_errors=True)
            shutil.rmtree(runtime, ignore_errors=True)

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _line(subject: Subject, side: Side, readings: Sequence[Reading], seconds: float) -> str:
    values = ", ".join(f"{each.value:,.4g} {each.metric.unit}" for each in readings)
    return f"  {subject.name:9} {side.name:14} {values}  ({seconds:.1f} s)"


def _short(error: Exception) -> str:
    """Its first and last line; what is between is a traceback with the paths of this machine."""
    lines = str(error).strip().splitlines()
    return lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"
