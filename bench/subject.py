"""What a subject is, and what it gets for one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.figures import Reading
from bench.scale import Scale
from bench.side import Side, Store
from bench.tally import Tally


@dataclass(frozen=True, slots=True)
class Arena:
    """Where one measurement takes place.

    Attributes:
        folder: empty, and gone afterwards.
        lasting: the same for all repetitions.
        runtime: short, private, for sockets.
        scale: how much to do.
    """

    folder: Path
    lasting: Path
    runtime: Path
    scale: Scale

    def store(self, name: str = "store", *, keep: int = 0) -> Store:
        """A new, empty store."""
        folder = self.folder / name
        folder.mkdir()
        return Store(folder, self.runtime, keep)

    def tally(self, name: str = "tally") -> tuple[Path, Tally]:
        """New numbers for workers to mark, and the file that they are in."""
        path = self.folder / name
        return path, Tally(path)


class Subject(Protocol):
    """One thing that is measured."""

    @property
    def name(self) -> str:
        """As the command line calls it."""
        ...

    @property
    def sides(self) -> tuple[str, ...]:
        """The contestants that can do it."""
        ...

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Do it once.

        Raises:
            BenchError: what was done is not right, so that its speed means nothing.
        """
        ...
