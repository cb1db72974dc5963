"""An application as the one who enqueues: it has the task's code."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from noria import aio, ids
from noria.aio import Crew
from noria.app.application import Noria
from noria.app.job import Draft, Job
from noria.app.signature import read_signature
from noria.app.task import Enqueuer, TaskFunction
from noria.app.uniqueness import duplicate
from noria.cli import arguments
from noria.cli.producer import Stored
from noria.cli.target import answer, opened
from noria.codecs.models import dump_model
from noria.errors import JobNotFound, ResultGone
from noria.front.watch import Watch
from noria.model.job import Record
from noria.model.task import Arguments

log = logging.getLogger("noria.cli")


class LocalProducer:
    """The application, which is opened when the first job is stored, so that a refused one makes no store."""

    def __init__(self, app: Noria, task: str, options: Mapping[str, Any], seconds: float) -> None:
        self._app = app
        self._task: TaskFunction[..., Any, ..., Any] = app.find_task(task)
        self._enqueuer: Enqueuer[..., Any] = self._task.options(**options)
        self._seconds = seconds
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
        jobs = await answer(self._app.enqueue_many([_patient(draft) for draft in drafts]), self._seconds)
        return [_stored(draft, job) for draft, job in zip(drafts, jobs, strict=True)]

    async def enqueue_one(self, draft: Draft[Any], wait: float | None) -> Stored:
        """As `Producer`."""
        await self._opened()
        [job] = await answer(self._app.enqueue_many([draft]), self._seconds)
        self._jobs[job.id] = job
        return Stored(job.id, job.enqueued)

    async def value(self, id: str, seconds: float) -> Raw:
        """As `Producer`."""
        try:
            return encoded(await self._jobs[id].result(seconds))
        except JobNotFound:
            raise ResultGone(f"job {id} has ended, and nothing of it is kept", job_id=id) from None

    async def states(self, id: str) -> AsyncGenerator[Record, None]:
        """As `Producer`."""
        crew = Crew("noria.follow", lambda name, error: log.error("%s failed", name, exc_info=error))
        watch = Watch(self._app.backend, crew, ids.jitter_source(ids.system_entropy))
        try:
            record = await self._read(id)
            while record is not None:
                yield record
                if record.state.final:
                    break
                with watch.follow(record) as follower:
                    await aio.happened(follower.news, None)
                record = await self._read(id)
        finally:
            await crew.aclose(1.0)

    async def _read(self, id: str) -> Record | None:
        [record] = await answer(self._app.backend.get([ids.from_text(id)]), self._seconds)
        return record

    async def close(self) -> None:
        """Close the application, if it was opened."""
        await self._stack.aclose()

    async def _opened(self) -> None:
        if not self._open:
            await self._stack.enter_async_context(opened(self._app, self._seconds))
            self._open = True


def _patient(draft: Draft[Any]) -> Draft[Any]:
    """The draft as one for which another job may stand."""
    claim = draft.new.claim
    if claim is None or claim.on_conflict != "reject":
        return draft
    return replace(draft, new=replace(draft.new, claim=replace(claim, on_conflict="existing")))


def _stored(draft: Draft[Any], job: Job[Any]) -> Stored:
    claim = draft.new.claim
    if claim is not None and claim.on_conflict == "reject" and not job.created and job.id != draft.id:
        return Stored("", why=str(duplicate(draft.new, ids.from_text(job.id))))
    return Stored(job.id, job.enqueued)


def encoded(value: Any) -> Raw:
    """A result as the JSON that its worker wrote, as far as decoding it kept that."""
    return Raw(msgspec.json.encode(value, enc_hook=dump_model))
