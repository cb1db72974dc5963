"""RQ.

https://python-rq.org/docs/workers/, "Performance Notes": a worker script of one's own that has imported everything,
and "SimpleWorker", which does not fork for each job; the default one does and is several times slower. One job runs
at a time. https://python-rq.org/docs/results/: `result_ttl=0` keeps no result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from redis import Redis
from rq import Queue, SimpleWorker
from rq.job import Job
from rq.registry import StartedJobRegistry

from bench.compare.client import Blocking
from bench.compare.setting import RESULTS, URL, tally

server: Redis = Redis.from_url(URL)
queue = Queue("compare", connection=server)
_OPTIONS: dict[str, Any] = {} if RESULTS else {"result_ttl": 0}


def echo(n: int) -> int:
    """Do nothing, and return what was given."""
    tally.mark()
    return n


class Peer(Blocking):
    """It has a call for many."""

    def enqueue(self, task: str, number: int) -> str:
        """Enqueue."""
        return str(queue.enqueue(echo, number, **_OPTIONS).id)

    def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Enqueue many; they go by one pipeline."""
        jobs = queue.enqueue_many([Queue.prepare_data(echo, (number,), **_OPTIONS) for number in numbers])
        return [str(job.id) for job in jobs]

    def value(self, id: str) -> int:
        """Wait; it blocks on the stream of the job's results."""
        result = Job.fetch(id, connection=server).latest_result(timeout=10)
        assert result is not None and result.type is result.Type.SUCCESSFUL, result
        return int(result.return_value)

    def left(self) -> int:
        """What waits and what runs."""
        return int(queue.count) + int(StartedJobRegistry(queue=queue).count)


client = Peer()

if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    SimpleWorker([Queue("compare", connection=server)], connection=server).work(logging_level="WARNING")
