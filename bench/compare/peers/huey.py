"""Huey on Redis.

https://huey.readthedocs.io/en/latest/consumer.html: workers and their type; two threads are the fastest for tasks
that do nothing, greenlets are for tasks that wait. The storage blocks on the queue by default, and `notify_result`
(https://huey.readthedocs.io/en/latest/api.html) tells waiters. It takes a task off the queue before running it: a
worker that dies loses what it ran.
"""

from __future__ import annotations

import time
from typing import Final

from huey import RedisHuey

from bench.compare.client import Blocking
from bench.compare.setting import CONNECTIONS, NAP, RESULTS, URL, tally

_URL: Final = f"{URL}?max_connections={CONNECTIONS}"
huey = RedisHuey("compare", url=_URL, results=RESULTS, notify_result=RESULTS)


@huey.task()
def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


@huey.task()
def nap(n: int) -> int:
    """Wait for 0.1 s; gevent makes that wait give way."""
    tally.begin()
    time.sleep(NAP)
    tally.mark()
    return n


class Peer(Blocking):
    """It has no call for many."""

    def enqueue(self, task: str, number: int) -> str:
        """Enqueue; without results the call returns nothing, so the task is made by hand."""
        made = {"echo": echo, "nap": nap}[task].s(number)
        huey.enqueue(made)
        return str(made.id)

    def value(self, id: str) -> int:
        """Wait; Redis tells the client when the result is there."""
        return int(huey.result(id, blocking=True, timeout=10))

    def left(self) -> int:
        """What waits; it does not know what runs."""
        return int(huey.pending_count())


client = Peer()
