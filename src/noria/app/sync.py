"""The application for code without an event loop: scripts, Django and Flask views, handlers in threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack

from noria.app import checks
from noria.app.job import Draft, Job
from noria.app.link import Links
from noria.app.loop_thread import LoopThread
from noria.app.status import JobStatus, StateWord
from noria.app.task import Enqueuer
from noria.errors import InvalidInput, NotRunning, shown
from noria.model.limits import POLL
from noria.model.reason import Reason

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class RetryOptions(TypedDict, total=False):
    """What can be said about a retry; see `job.retry`."""

    delay: float
    attempts: int | None
    note: str


class Sync:
    """Blocking twins of what is awaited elsewhere; they raise the same errors.

    They use the loop on which the application is open in another thread, such as a worker's. If there is
    none, a thread with a loop of its own opens it at the first call; it is closed at exit, or by `close`.

    Raises `NotRunning` from a thread whose event loop runs: there, blocking would stop the loop.

    Args:
        app: opens the application on the loop that runs.
        links: where it is open.
    """

    def __init__(self, app: AbstractAsyncContextManager[object], links: Links) -> None:
        self._links = links
        self._thread = LoopThread(app)
        self._lock = threading.Lock()

    def enqueue(self, task: Enqueuer[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Enqueue a job of a task, or of `task.options(...)`; as `task.enqueue`."""
        return self._run(lambda: task.enqueue(*args, **kwargs))

    def enqueue_many(self, drafts: Iterable[Draft[R]], *, conn: object | None = None) -> list[Job[R]]:
        """Enqueue many jobs, described by `task.job(...)`; as `app.enqueue_many`.

        Args:
            conn: a connection of psycopg 3, without asyncio, to the database of this application: the jobs are
                enqueued in its transaction. One of asyncio belongs to a loop, which this would block.
        """
        listed = drafts_of(drafts)
        if inspect.iscoroutinefunction(getattr(type(conn), "execute", None)):
            raise InvalidInput(
                f"a {type(conn).__name__} is used with await: await app.enqueue_many(..., conn=conn) instead of "
                "app.sync, or pass a psycopg.Connection",
                field="conn",
            )
        return self._run(lambda: enqueue_many(self._links, listed, conn))

    def result(self, job: Job[T], timeout: float | None = None) -> T:
        """Wait until a job has ended, at most `timeout` seconds, and return its value; as `job.result`."""
        return self._run(lambda: job.result(timeout))

    def status(self, job: Job[Any]) -> JobStatus:
        """Read how a job stands; as `job.status`."""
        return self._run(job.status)

    def explain(self, job: Job[Any]) -> str:
        """Say in one line why a job is not running; as `job.explain`."""
        return self._run(job.explain)

    def reasons(self, job: Job[Any]) -> list[Reason]:
        """The same for programs; as `job.reasons`."""
        return self._run(job.reasons)

    def cancel(self, job: Job[Any], reason: str = "") -> StateWord:
        """Cancel a job; as `job.cancel`."""
        return self._run(lambda: job.cancel(reason))

    def retry(self, job: Job[Any], draft: Draft[Any] | None = None, **how: Unpack[RetryOptions]) -> StateWord:
        """Queue a failed, cancelled or expired job again; as `job.retry`."""
        return self._run(lambda: job.retry(draft, **how))

    def discard(self, job: Job[Any]) -> StateWord:
        """Count a failed job as a dead letter no more; as `job.discard`."""
        return self._run(job.discard)

    def close(self) -> None:
        """Close the loop of its own, if it has one; the next call opens another. May be repeated."""
        with self._lock:
            self._thread.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if _loop_runs_here():
            raise NotRunning(
                "app.sync blocks, and an event loop runs in this thread; await the coroutine instead"
            )
        loop = self._loop()
        future = asyncio.run_coroutine_threadsafe(work(), loop)
        while True:
            try:
                return future.result(POLL)
            except concurrent.futures.CancelledError:
                raise NotRunning("the application was closed while app.sync waited") from None
            except TimeoutError:
                if future.done():
                    raise
                if loop.is_closed():
                    raise NotRunning("the event loop was closed while app.sync waited") from None
            except BaseException:
                future.cancel()
                raise

    def _loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            link = self._links.any()
            return link.loop if link is not None else self._thread.start()


def _loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def drafts_of(drafts: Iterable[Draft[R]]) -> list[Draft[R]]:
    """The drafts that a caller wants enqueued, checked.

    Raises:
        InvalidInput: it is no list, or something in it is no draft.
    """
    listed = checks.several("drafts", drafts, "drafts, made with task.job(...)")
    for place, draft in enumerate(listed):
        if not isinstance(draft, Draft):
            raise InvalidInput(
                f"drafts[{place}] is {shown(draft)}, no draft of a job; make drafts with task.job(...)",
                field="drafts",
            )
    return listed


async def enqueue_many(links: Links, drafts: list[Draft[R]], conn: object | None = None) -> list[Job[R]]:
    """Push drafts through the link of the loop that runs, or in the transaction of a connection; the jobs in order."""
    jobs, link = [draft.new for draft in drafts], links.here()
    receipts = await (link.push(jobs) if conn is None else link.push_within(conn, jobs))
    return [draft.job(receipt) for draft, receipt in zip(drafts, receipts, strict=True)]
