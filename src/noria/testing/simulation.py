"""The real worker on the real SQLite engine, in virtual time: many processes, all kinds of faults, one thread.

One seed gives one run: the same options, the same order of callbacks, the same faults, the same digest. A run
has two phases. While jobs are enqueued and changed, processes are killed, paused and drained, calls of the store go
wrong, the store is away, the clock jumps. Then everything heals, every job must come to its end, and every worker
must work and leave nothing behind. The history is judged by `noria.testing.checker`, and

    python -m noria.testing.replay SEED

makes the run of a seed again and says what is wrong with it.
"""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from noria.testing.checker import Rules, Verdict, check, describe
from noria.testing.events import Event
from noria.testing.scenario import Options, command
from noria.testing.virtual import VirtualLoop
from noria.testing.world import SOUND as SOUND
from noria.testing.world import Build as Build
from noria.testing.world import World


class Run(Struct, frozen=True):
    """What a simulation gave.

    Attributes:
        digest: a hash of the whole history: equal for equal seeds and code.
        calls: how many calls of the store were made.
    """

    options: Options
    events: list[Event]
    verdict: Verdict
    digest: str
    calls: int

    def report(self) -> str:
        """Findings for people, with their slices of the history."""
        return describe(self.events, self.verdict)


def simulate(options: Options, build: Build = SOUND) -> Run:
    """Make one run and judge it."""
    loop = VirtualLoop(options.seed)
    # The dead leave tasks behind that never end: that is their point, and nobody needs to hear of it.
    loop.set_exception_handler(lambda loop, context: None)
    world = World(loop, options, build)
    with _uncollected():
        try:
            events = loop.run_until_complete(world.play())
        except Exception as error:
            error.add_note(f"in a simulation that is made again by: {command(options)}")
            raise
        finally:
            loop.close()
    verdict = check(events, Rules(lateness=None))
    verdict.findings += world.mishaps()
    digest = hashlib.blake2b(msgspec.json.encode(events), digest_size=8).hexdigest()
    return Run(options, events, verdict, digest, world.calls)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect no garbage: it would have dead coroutines run their `finally` blocks in the middle of a run."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def burial() -> Iterator[None]:
    """While runs are made: what the dead left behind is collected without a word.

    A coroutine that is collected runs its `finally` blocks, which fail, since their loop is closed.
    """
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        yield
        gc.collect()
    finally:
        sys.unraisablehook = before
