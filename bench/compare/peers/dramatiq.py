"""Dramatiq on Redis.

Its documentation has no page on throughput; https://dramatiq.io/advanced.html has "Using gevent" for tasks that wait,
and the command line's processes and threads. One thread is the fastest for tasks that do nothing; the prefetch is
raised by the environment variable `dramatiq_queue_prefetch`. Middleware as by default, plus Results where they are on.
"""

from __future__ import annotations

import time
from typing import Final

import dramatiq
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bench.compare.client import Blocking
from bench.compare.setting import CONNECTIONS, NAP, RESULTS, URL, tally

_URL: Final = f"{URL}?max_connections={CONNECTIONS}"
broker = RedisBroker(url=_URL)
if RESULTS:
    broker.add_middleware(Results(backend=RedisBackend(url=_URL), store_results=True))
dramatiq.set_broker(broker)


@dramatiq.actor
def echo(n: int) -> int | None:
    """Do nothing, and return what was given, unless that would be a warning in the log for each."""
    tally.mark()
    return n if RESULTS else None


@dramatiq.actor
def nap(n: int) -> int | None:
    """Wait for 0.1 s; gevent makes that wait give way."""
    tally.begin()
    time.sleep(NAP)
    tally.mark()
    return n if RESULTS else None


class Peer(Blocking):
    """It has no call for many: a group enqueues its messages one after another."""

    def enqueue(self, task: str, number: int) -> str:
        """Send."""
        return str({"echo": echo, "nap": nap}[task].send(number).message_id)

    def value(self, id: str) -> int:
        """Wait; the backend blocks on a list."""
        message: Message[int] = Message(echo.queue_name, echo.actor_name, (), {}, {}, message_id=id)
        return int(message.get_result(block=True, timeout=10_000))

    def left(self) -> int:
        """Messages that have not been acknowledged."""
        return int(broker.client.hlen("dramatiq:default.msgs"))


client = Peer()
