"""An application as the one who enqueues: it has the task's code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from noria import aio, ids
from noria.app.application import Noria
from noria.app.job import Draft, Job
from noria.app.link import queue_full
from noria.app.signature import read_signature
from noria.app.task import Enqueuer, TaskFunction
from noria.app.uniqueness import duplicate
from noria.cli import arguments
from noria.cli.producer import Emitted, Missed, Stored
from noria.cli.steady import Steady
from noria.cli.target import answer, opened
from noria.clock import SystemClock
from noria.codecs.models import dump_model
from noria.errors import JobNotFound, ResultGone
from noria.model.job import NewJob, Receipt, Record
from noria.model.task import Arguments


class LocalProducer:
    """The application, which is opened when the first job is stored, so that a refused one makes no store."""

    def __init__(
        self, app: Noria, task: str, options: Mapping[str, Any], seconds: float, steady: Steady
    ) -> None:
        self._app = app
        self._task: TaskFunction[..., Any, ..., Any] = app.find_task(task)
        self._enqueuer: Enqueuer[..., Any] = self._task.options(**options)
        self._seconds = seconds
        self._steady = steady
        self._stack = AsyncExitStack()
        self._open = False
        self._jobs: dict[str, Job[Any]] = {}

    def named(self, words: Sequence[str]) -> Arguments:
        """As `Producer`."""
        return (), arguments.from_words(read_signature(self._task.function, self._task.name), words)

    def draft(self, given: Arguments) -> Draft[Any]:
        """As `Producer`."""
        args, kwargs = given
        return self._enqueuer.job(*args, **kwargs)

    def id_of(self, draft: Draft[Any]) -> str:
        """As `Producer`."""
        return draft.id

    async def enqueue(self, drafts: Sequence[Draft[Any]]) -> list[Stored]:
        """As `Producer`."""
        await self._opened()
        # One that is refused must not hide what became of the others.
        jobs = [_patient(draft.new) for draft in drafts]
        receipts = await answer(self._app.backend.push(jobs), self._seconds)
        return [_stored(draft, receipt) for draft, receipt in zip(drafts, receipts, strict=True)]

    async def enqueue_one(self, draft: Draft[Any], wait: float | None) -> Stored:
        """As `Producer`."""
        await self._opened()
        [job] = await answer(self._app.enqueue_many([draft]), self._seconds)
        self._jobs[job.id] = job
        return Stored(job.id, job.enqueued)

    async def value(self, id: str, seconds: float) -> Raw:
        """As `Producer`."""
        clock = SystemClock()
        end = clock.monotonic() + seconds
        try:
            return encoded(
                await self._steady.keep(
                    lambda: self._jobs[id].result(max(0.0, end - clock.monotonic())), seconds
                )
            )
        except JobNotFound:
            raise ResultGone(f"job {id} has ended, and nothing of it is kept", job_id=id) from None

    async def events(self, id: str) -> AsyncGenerator[Record | Emitted | Missed, None]:
        """As `Producer`."""
        offset = 0
        link = self._app.home.links.here()
        with link.outcomes.following(ids.from_text(id)) as following:
            while (record := await self._read(id)) is not None:
                if not record.state.final:
                    yield record
                while offset < record.items:
                    page = await self._emitted(record, offset)
                    for each in page:
                        yield each
                    offset = page[-1].offset + isinstance(page[-1], Emitted) if page else record.items
                if record.state.final:
                    yield record  # the end is told last
                    return
                await aio.happened(following.news, following.every)
                following.news.clear()

    async def _read(self, id: str) -> Record | None:
        backend, wanted = self._app.backend, [ids.from_text(id)]
        [record] = await self._steady.keep(
            lambda: answer(backend.get(wanted, watch=backend.reply_channel), self._seconds)
        )
        return record

    async def _emitted(self, record: Record, offset: int) -> list[Emitted | Missed]:
        """The next partial results from an offset on; none if none are kept."""
        backend, seconds = self._app.backend, self._seconds
        page = await self._steady.keep(lambda: answer(backend.emitted(record.id, offset), seconds))
        if page is None or not page.items:
            return []
        gap = [Missed(page.items[0].offset)] if page.items[0].offset > offset else []
        return [*gap, *(Emitted(each.offset, Raw(each.data)) for each in page.items)]

    async def close(self) -> None:
        """Close the application, if it was opened."""
        await self._stack.aclose()

    async def _opened(self) -> None:
        if not self._open:
            await self._stack.enter_async_context(opened(self._app, self._seconds))
            self._open = True


def _patient(job: NewJob) -> NewJob:
    """The job as one for which another may stand."""
    if job.claim is None or job.claim.on_conflict != "reject":
        return job
    return replace(job, claim=replace(job.claim, on_conflict="existing"))


def _stored(draft: Draft[Any], receipt: Receipt) -> Stored:
    if receipt.full:
        return Stored("", why=str(queue_full([(draft.new, receipt)], 1)))
    if receipt.status == "rejected":
        return Stored("", why=receipt.why)
    job, claim = draft.job(receipt), draft.new.claim
    if claim is not None and claim.on_conflict == "reject" and not job.created and job.id != draft.id:
        return Stored("", why=str(duplicate(draft.new, ids.from_text(job.id))))
    return Stored(job.id, job.enqueued)


def encoded(value: Any) -> Raw:
    """A result as the JSON that its worker wrote, as far as decoding it kept that."""
    return Raw(msgspec.json.encode(value, enc_hook=dump_model))
