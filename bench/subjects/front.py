"""What a front adds: jobs enqueued over HTTP, calls that wait, and lists of a full store.

The front, its clients and the worker are three processes on the cores of one machine.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench import child
from bench.child import BenchError
from bench.figures import Metric, Reading, quantile
from bench.side import Side, Store
from bench.subject import Arena
from bench.subjects.backlog import filled

CLIENTS: Final = 50
PATIENCE: Final = 30.0

POSTS: Final = Metric("front.posts", f"POST /v1/jobs, {CLIENTS} keep-alive clients", "jobs/s", higher=True)
CALL: Final = Metric("front.call", "POST /v1/call that waits for its value, p50", "ms")
BARE: Final = Metric("front.bare", "The same round trip from Python, p50", "ms")
ADDED: Final = Metric("front.added", "What the front adds to it", "ms")
PAGE: Final = Metric("front.page", "GET /v1/jobs, first page, a million jobs, p50", "ms")


class Front:
    """Enqueues without a worker, calls with an idle one, and lists a store with a long queue."""

    name = "front"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Measure each on a store of its own; the front never has the application's code."""
        n, trips = arena.scale.jobs, arena.scale.trips
        rate = self._posts(side, arena, n)
        bare, call = self._calls(side, arena, trips)
        long = filled(side, arena, arena.scale.backlog)
        with serving(long) as port:
            page = quantile(_ask("pages", long, port=port, n=100), 0.5)
        return [
            Reading(POSTS, rate, n),
            Reading(CALL, call, trips),
            Reading(BARE, bare, trips),
            Reading(ADDED, call - bare, trips),
            Reading(PAGE, page, 100),
        ]

    def _posts(self, side: Side, arena: Arena, n: int) -> float:
        store = arena.store("posts")
        n -= n % CLIENTS
        with serving(store) as port:
            seconds = _ask("posts", store, port=port, n=n, clients=CLIENTS)["seconds"]
        counts = side.counts(store)
        if counts != {"queued": n + CLIENTS}:
            raise BenchError(f"{n + CLIENTS} jobs were enqueued over HTTP, the store has {counts}")
        return float(n / seconds)

    def _calls(self, side: Side, arena: Arena, trips: int) -> tuple[float, float]:
        store = arena.store("calls")
        path, tally = arena.tally("calls-tally")
        side.enqueue(store, 1)
        with side.working(store, path):
            tally.wait_for(1, PATIENCE, "first job")
            bare = quantile(side.trips(store, trips, 0.0), 0.5)
            with serving(store) as port:
                call = quantile(_ask("calls", store, port=port, n=trips), 0.5)
        return bare, call


@contextmanager
def serving(store: Store) -> Iterator[int]:
    """A front of a store, by the port that it listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    noria = str(Path(sys.executable).with_name("noria"))
    command = [noria, "--quiet", "serve", "bench.noria_side.app:app", "--port", str(port)]
    with child.running(command, store.env(), store.folder / "front.log"):
        _wait_until_ready(port)
        yield port


def _wait_until_ready(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as reply:
                json.load(reply)
                return
        except (OSError, urllib.error.URLError):
            if time.monotonic() > end:
                raise TimeoutError(f"the front was not ready within {PATIENCE:g} s") from None
            time.sleep(0.02)


def _ask(role: str, store: Store, **question: Any) -> Any:
    return child.ask("bench.noria_side.load", role, question, store.env())
