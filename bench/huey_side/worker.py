"""One consumer process of huey, with one thread worker unless BENCH_THREADS says otherwise.

A saturated loop beside it is an asyncio loop (uvloop, as in Noria's worker) in a thread of this process that
runs the same coroutine: a huey process has no loop of its own, so a busy one can only be another thread's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading

import uvloop

from bench import busy
from bench.huey_side.app import huey, tally


def main() -> None:
    """Consume until SIGTERM."""
    logging.basicConfig(level=logging.WARNING)
    if "BENCH_BUSY" in os.environ:
        threading.Thread(target=_saturate, name="saturated loop", daemon=True).start()
    huey.create_consumer(
        workers=int(os.environ.get("BENCH_THREADS", "1")),
        worker_type="thread",
        periodic=False,
        initial_delay=0.005,
        max_delay=0.02,
        graceful_signal="TERM",
    ).run()


def _saturate() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(busy.turns(tally))


if __name__ == "__main__":
    main()
