"""A contestant, as the parent process sees it: a package whose `child` module does what it is asked."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench import child
from bench.child import ANSWER, BenchError, Worker

Way = Literal["one by one", "100 at once", "bulk"]


@dataclass(frozen=True, slots=True)
class Store:
    """A store and what its users must know.

    Attributes:
        folder: everything about it is in here.
        runtime: a private folder with a short path, for sockets.
        keep: how many records of succeeded jobs it keeps at most; 0 leaves it at the default.
        url: of the server that it is on; empty for a file of its own.
        results: whether the results of jobs are kept.
    """

    folder: Path
    runtime: Path
    keep: int = 0
    url: str = ""
    results: bool = True

    @property
    def path(self) -> Path:
        """The database file."""
        return self.folder / "store.db"

    def env(self, *, busy: bool = False, threads: int = 0, tally: Path | None = None) -> dict[str, str]:
        """The environment of a process that uses it."""
        said = {"BENCH_STORE": str(self.path), "NORIA_URL": self.url or f"sqlite:///{self.path}"}
        if self.keep:
            said["BENCH_KEEP"] = str(self.keep)
        if not self.results:
            said["BENCH_RESULTS"] = "0"
        if busy:
            said["BENCH_BUSY"] = "1"
        if threads:
            said["BENCH_THREADS"] = str(threads)
        if tally is not None:
            said["BENCH_TALLY"] = str(tally)
        return child.environment(self.runtime, said)


@dataclass(frozen=True, slots=True)
class Side:
    """A contestant.

    Attributes:
        name: as in the results, and as its package in `bench` without `_side`.
        needs: the distribution that must be installed.
        worker: the command that starts one worker process.
        slots: the option of that command that says how many jobs run at once; empty if it has none.
    """

    name: str
    needs: str
    worker: tuple[str, ...]
    slots: str = ""
    facts: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def here(self) -> bool:
        """Whether it is installed."""
        return importlib.util.find_spec(self.needs) is not None

    @property
    def module(self) -> str:
        """What its children run."""
        return f"bench.{self.name}_side.child"

    @property
    def interpreter(self) -> str:
        """The Python that its children run on."""
        return sys.executable

    def env(self, store: Store, tally: Path | None = None) -> dict[str, str]:
        """The environment of its children."""
        return store.env(tally=tally)

    def ask(
        self,
        store: Store,
        role: str,
        question: Mapping[str, Any],
        *,
        tally: Path | None = None,
        seconds: float = ANSWER,
    ) -> Any:
        """A child's answer; as `child.ask`."""
        env = self.env(store, tally)
        return child.ask(self.module, role, question, env, seconds=seconds, interpreter=self.interpreter)

    def enqueue(
        self,
        store: Store,
        n: int,
        way: Way = "bulk",
        *,
        task: str = "echo",
        delay: float = 0.0,
        ids: Path | None = None,
    ) -> float:
        """Enqueue n jobs of a task in a process of its own; the seconds that it took once the store was open.

        Args:
            ids: a file to write the jobs' ids to, for `check`.
        """
        question = {"n": n, "way": way, "task": task, "delay": delay, "ids": str(ids) if ids else None}
        seconds: float = self.ask(store, "enqueue", question)["seconds"]
        return seconds

    def check(self, store: Store, ids: Path, n: int) -> dict[str, Any]:
        """Read back the result of every job, and ask the store what it still holds.

        Returns:
            `last`: when the last outcome was recorded, in nanoseconds since the epoch, 0 if that is not kept.

        Raises:
            BenchError: a result is missing or wrong, or the store holds jobs that have not ended.
        """
        found: dict[str, Any] = self.ask(store, "check", {"ids": str(ids)})
        if found["right"] != n or found["open"]:
            raise BenchError(f"{self.name}: of {n} jobs {found['right']} had the right result; {found}")
        return found

    def counts(self, store: Store) -> dict[str, int]:
        """Jobs in the store by state."""
        found: dict[str, int] = self.ask(store, "counts", {})
        return found

    def trips(self, store: Store, n: int, pause: float) -> list[float]:
        """Milliseconds of n round trips, one after another, with random pauses of up to that many seconds."""
        question, seconds = {"n": n, "pause": pause}, 20 + n * (0.3 + pause)
        found: list[float] = self.ask(store, "trips", question, seconds=seconds)
        return found

    def describe(self, store: Store) -> dict[str, Any]:
        """Pragmas of a connection, and versions."""
        found: dict[str, Any] = self.ask(store, "describe", {})
        return found

    def working(
        self, store: Store, tally: Path, *, busy: bool = False, slots: int = 0, threads: int = 0
    ) -> AbstractContextManager[Worker]:
        """One worker process for the time of a block.

        Args:
            busy: keep a loop in its process saturated with turns of 0.2 ms.
            slots: how many jobs run at once, if not as by default.
            threads: threads for contestants that run each job in one, if not as by default.
        """
        more = (self.slots, str(slots)) if slots and self.slots else ()
        env = store.env(busy=busy, threads=threads, tally=tally)
        return child.running((*self.worker, *more), env, store.folder / "worker.log")
