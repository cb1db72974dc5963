"""A contestant of the comparison: a side on a server, in an environment of its own, that may lack a thing."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from bench.child import ROOT, BenchError
from bench.compare.guarded import Guarded, guarded
from bench.compare.servers import Kind, Server, serving
from bench.side import Side, Store
from bench.subject import Arena

Ability = Literal["awaits", "bulk", "results", "trips", "naps"]

ENVIRONMENTS: Final = ROOT / ".venv-compare"
"""One for each file in requirements/compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant(Side):
    """A system on a server.

    Attributes:
        title: for tables.
        server: what it keeps its jobs in.
        environment: the one of `ENVIRONMENTS` that it lives in; empty for ours.
        peer: its module in `peers`; empty for Noria.
        sleeper: the command for jobs that wait, if not `worker`; `{slots}` stands for how many at once.
        part: which part of the jobs of a drain it is given, so that slow ones take seconds and not minutes.
        ahead: how many jobs a worker may take before it runs the first.
        lacks: what it cannot do, and why, for a footnote.
        settings: how it is set up, in short; its module has the whole of it.
        exits: codes with which its worker ends when it is told to.
        distributions: whose versions are told.
    """

    title: str
    server: Kind
    environment: str = ""
    peer: str = ""
    sleeper: tuple[str, ...] = ()
    part: float = 1.0
    ahead: int = 100
    lacks: Mapping[Ability, str] = field(default_factory=dict)
    settings: str = ""
    exits: Collection[int] = (0,)
    distributions: tuple[str, ...] = ()

    @property
    def here(self) -> bool:
        """Whether its environment has been made."""
        return not self.environment or Path(self.interpreter).exists()

    @property
    def interpreter(self) -> str:
        """The Python of its environment."""
        if not self.environment:
            return sys.executable
        return str(ENVIRONMENTS / self.environment / "bin" / "python")

    @property
    def module(self) -> str:
        """What its children run."""
        return "bench.compare.child" if self.peer else "bench.noria_side.child"

    @property
    def is_noria(self) -> bool:
        """Whether it is us."""
        return not self.peer

    def jobs(self, n: int, processes: int = 1) -> int:
        """How many of n jobs it is given; with several workers so many for each, and enough for each to get some."""
        several = 4 * self.ahead * processes if processes > 1 else 0
        return max(20, several, round(n * self.part) * processes)

    def check_runs(self, ran: int, n: int) -> None:
        """Raises BenchError unless n jobs ran once each."""
        if ran != n:
            raise BenchError(f"{self.name}: {n} jobs ran {ran} times")

    @contextmanager
    def opened(self, arena: Arena, *, results: bool = True) -> Iterator[Store]:
        """A store on a new server, which ends with the block.

        Raises:
            BenchError: the server did not start or ended before, or the contestant cannot use it.
        """
        folder = Path(tempfile.mkdtemp(prefix="server-", dir=arena.folder))
        with serving(self.server, folder, arena.lasting) as server:
            store = self.store_on(server, arena, results=results)
            if self.peer:
                self.ask(store, "prepare", {})
            yield store

    def store_on(self, server: Server, arena: Arena, *, results: bool = True) -> Store:
        """What its users must know about a server that runs."""
        return Store(server.folder, arena.runtime, url=server.url, results=results)

    def env(self, store: Store, tally: Path | None = None) -> dict[str, str]:
        """As `Store.env`, and who is meant."""
        return {**store.env(tally=tally), "BENCH_PEER": self.peer}

    def left(self, store: Store) -> int:
        """How many jobs the server still holds that have not ended."""
        found: int = self.ask(store, "left", {})
        return found

    def picks(self, store: Store, tally: Path, n: int) -> list[float]:
        """Milliseconds from the call that enqueues a job to the end of its handler, n times, one after another."""
        found: list[float] = self.ask(store, "picks", {"n": n}, tally=tally)
        return found

    def working(
        self, store: Store, tally: Path, *, busy: bool = False, slots: int = 0, threads: int = 0
    ) -> AbstractContextManager[Guarded]:
        """One worker process, or what the contestant takes for one, for the time of a block."""
        if busy or threads:
            raise BenchError("no contestant of this comparison is measured beside other work")
        env = {
            **self.env(store, tally),
            "BENCH_SLOTS": str(slots),
            "dramatiq_queue_prefetch": str(slots or 1_000),
        }
        command = self.sleeper if slots and self.sleeper else self.worker
        words = [word.format(slots=slots) for word in command]
        log = store.folder / f"{tally.name}.log"
        return guarded(words, env, log, exits=self.exits)
