"""Celery on Redis.

https://docs.celeryq.dev/en/stable/userguide/optimizing.html, "Prefetch Limits": a multiplier of 64 or 128 for lots
of short tasks; "Broker Connection Pools": as many connections as greenlets use.
https://docs.celeryq.dev/en/stable/userguide/tasks.html, "Ignore results you don't want".
https://docs.celeryq.dev/en/stable/userguide/concurrency/index.html: "solo" runs tasks in the worker's own process,
the fastest of its pools for tasks that do nothing; gevent for tasks that wait. Tasks are acknowledged late, as
everybody else's. Gossip, mingle, heartbeats and events are off: they are talk among workers.
"""

from __future__ import annotations

import time
from typing import Final

import redis
from celery import Celery

from bench.compare.client import Blocking
from bench.compare.setting import CONNECTIONS, NAP, RESULTS, URL, tally

app = Celery("compare", broker=URL, backend=URL if RESULTS else None)
app.conf.update(
    task_acks_late=True,
    task_ignore_result=not RESULTS,
    worker_prefetch_multiplier=128,
    worker_hijack_root_logger=False,
    broker_pool_limit=CONNECTIONS,
    broker_transport_options={"max_connections": CONNECTIONS},
    redis_max_connections=CONNECTIONS,
    broker_connection_retry_on_startup=True,
)
_KEPT: Final = ("celery", "unacked")
"""Its keys in Redis: what waits, and what workers hold."""


@app.task
def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


@app.task
def nap(n: int) -> int:
    """Wait for 0.1 s; gevent makes that wait give way."""
    tally.begin()
    time.sleep(NAP)
    tally.mark()
    return n


class Peer(Blocking):
    """It has no call for many: a group publishes its tasks one after another."""

    def enqueue(self, task: str, number: int) -> str:
        """Publish."""
        return str({"echo": echo, "nap": nap}[task].delay(number).id)

    def value(self, id: str) -> int:
        """Wait; Redis tells the client when the result is there."""
        return int(app.AsyncResult(id).get(timeout=10))

    def left(self) -> int:
        """What waits and what workers hold."""
        with redis.Redis.from_url(URL) as server:
            return int(server.llen(_KEPT[0])) + int(server.hlen(_KEPT[1]))


client = Peer()
