"""Questions that the jobs of this worker ask: opened, heard of, read once, and closed."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import UNSET
from msgspec.structs import replace

from noria import aio, ids
from noria.backends.contract import Doc, DocWrite, Mark, Version
from noria.clock import Clock
from noria.errors import BackendError, Conflict, NotRunning, QuestionDeclined, QuestionExpired
from noria.ids import Id, IdSource
from noria.model import question as questions
from noria.model.asked import Notify, status_of_question
from noria.model.job import Lease
from noria.model.limits import POLL
from noria.model.question import OPEN, Question
from noria.worker.answers import AnswerLinks
from noria.worker.held import Run
from noria.worker.judge import Doom
from noria.worker.marks import Marker
from noria.worker.run import Runner

log = logging.getLogger("noria.worker")


class Board(Protocol):
    """The part of a backend that keeps questions."""

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        """As `Board.read`."""
        ...

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        """As `Board.write`."""
        ...


class Asker:
    """Asks for handlers, one question each at a time. All of it belongs to the loop's thread.

    A run that asks has no slot, and its time limit stands still; its lease is renewed with the session, so nobody else
    runs it. The first answer counts; it is read in the same step in which its question is closed.

    Args:
        runner: holds the runs; set before it is used.
        marker: records that a job asks, and that it goes on.
        names: gives questions their ids.
        most: how many may ask at the same time; further ones wait until they may.
        links: makes the links by which persons answer.
    """

    def __init__(
        self, board: Board, marker: Marker, clock: Clock, names: IdSource, most: int, links: AnswerLinks
    ) -> None:
        self._board = board
        self.runner: Callable[[], Runner] = _nobody
        self._marker = marker
        self._clock = clock
        self._ids = names
        self._links = links
        self._room = asyncio.Semaphore(most)
        self._news = asyncio.Event()
        self._open: dict[str, asyncio.Future[Question]] = {}
        self._asking: set[Id] = set()

    def hurry(self) -> None:
        """An answer may have come: called when a hint says so, and with every beat."""
        self._news.set()

    async def run(self) -> None:
        """Look for answers for ever; a task of the worker's crew."""
        while True:
            await self._news.wait()
            self._news.clear()
            for doc in await self._read(list(self._open)):
                if doc is not None:
                    self._tell(questions.read(doc))

    def _tell(self, question: Question) -> None:
        answer = self._open.get(question.id)
        if answer is not None and not answer.done() and question.state != "open":
            answer.set_result(question)

    async def _read(self, names: Sequence[str]) -> list[Doc | None]:
        docs: list[Doc | None] = await _surely(lambda: self._board.read(OPEN, names)) if names else []
        return docs

    async def ask(self, lease: Lease, question: Question, notify: Notify | None) -> Any:
        """Ask, and wait for the answer: its data, not looked into. `notify` is told of the question once it is open.

        Raises:
            QuestionExpired, QuestionDeclined: there is none, and no default.
            NotRunning: the job is none of those that can wait here.
            Stopped: the job is no longer this worker's.
        """
        run = self._run_of(lease)
        self._asking.add(lease.id)
        try:
            async with self._room:
                return await self._ask(run, question, notify)
        finally:
            self._asking.discard(lease.id)

    def _run_of(self, lease: Lease) -> Run:
        run = self.runner().held.get(lease.id)
        if run is None or run.task is None or run.lease.starts != lease.starts:
            raise NotRunning(f"job {ids.to_text(lease.id)} cannot ask: it does not run here any more")
        if run.task.executor != "async":
            raise NotRunning(
                f"{run.task.name} cannot ask: only tasks that are `async def` can wait for an answer"
            )
        if lease.id in self._asking:
            raise NotRunning(f"job {ids.to_text(lease.id)} asks already: one question at a time")
        return run

    async def _ask(self, run: Run, question: Question, notify: Notify | None) -> Any:
        lease, runner = run.lease, self.runner()
        question = self._named(question)
        docs = (questions.opened(question), *await self._superseding(lease, question))
        try:
            await self._marker.add(_mark(lease, asks=question.id, docs=docs))
            if notify is not None:
                await self._notify(question, notify)
            runner.time.pause(run)
            runner.slots.leave(run)
            answer = await self._answered(question)
            await runner.slots.come_back(run)
            runner.time.go_on(run)
            await self._close(run, answer)
        except BaseException:
            self._withdraw(run, question)
            raise
        return _given(answer)

    async def _notify(self, question: Question, notify: Notify) -> None:
        """Tell who is to send the link to a person; that is work of the handler's, in its slot and within its time."""
        url = await _surely(lambda: self._links.url(question.id))
        told = notify(status_of_question(question, url))
        if inspect.isawaitable(told):
            await told
        self.hurry()  # an answer may have come already, and its hint with it

    def _named(self, question: Question) -> Question:
        """From the moment in which it is asked it is open for as long as it was to be."""
        now = self._clock.wall()
        return replace(
            question,
            id=ids.to_text(self._ids.next()),
            session=self._marker.session,
            created=now,
            expires=now + question.expires - question.created,
        )

    async def _superseding(self, lease: Lease, question: Question) -> Sequence[DocWrite]:
        """What tells those who still see the question of an earlier start that it is asked anew."""
        if not lease.asked:
            return ()
        (doc,) = await self._read([lease.asked])
        if doc is None:
            return ()
        before = questions.read(doc)
        return questions.closing(before.closed("superseded", question.created, following=question.id))

    async def _answered(self, question: Question) -> Question:
        """Wait until it is answered, or nobody can answer it any more."""
        answer: asyncio.Future[Question] = asyncio.get_running_loop().create_future()
        self._open[question.id] = answer
        try:
            while True:
                await asyncio.wait([answer], timeout=max(0.0, question.expires - self._clock.wall()))
                if answer.done():
                    return answer.result()
                if self._clock.wall() >= question.expires and (end := await self._ended(question)):
                    return end
        finally:
            del self._open[question.id]

    async def _ended(self, question: Question) -> Question | None:
        """Its time is over: how it stands now; None if somebody was changing that."""
        (doc,) = await self._read([question.id])
        if doc is not None and (found := questions.read(doc)).state != "open":
            return found
        expired = question.closed("expired", self._clock.wall())
        if doc is None:
            return expired
        try:
            await _surely(lambda: self._board.write([questions.answering(doc, expired)]))
        except Conflict:
            return None
        return expired

    async def _close(self, run: Run, answer: Question) -> None:
        docs = questions.closing(answer.closed(answer.state, self._clock.wall()))
        await self._marker.add(_mark(run.lease, asks=None, docs=docs))

    def _withdraw(self, run: Run, question: Question) -> None:
        """The handler waits no more. What is to run again elsewhere is asked anew there, and superseded by that."""
        if run.doom in (Doom.DRAIN, Doom.LOST):
            return
        docs = questions.closing(question.closed("withdrawn", self._clock.wall()))
        self._marker.jot(_mark(run.lease, asks=None, docs=docs))
        if run.away:
            # Without a slot, since a coroutine that is being cancelled cannot wait for one.
            self.runner().time.go_on(run)

    async def look_back(self, lease: Lease) -> Question | None:
        """The answer to the question of an earlier start, if it came although nobody was there to read it.

        It is closed in the step in which it is read: a secret answer is kept nowhere then.
        """
        (doc,) = await self._read([lease.asked])
        if doc is None or (found := questions.read(doc)).state not in ("answered", "declined", "cancelled"):
            return None
        docs = questions.closing(found.closed(found.state, self._clock.wall()))
        await self._marker.add(_mark(lease, asks=None, docs=docs))
        return found


def _nobody() -> Runner:
    raise AssertionError("connected before it is used")


async def _surely(act: Callable[[], Any]) -> Any:
    """Do it however long the backend is away; the end of the session ends this too."""
    while True:
        try:
            return await act()
        except BackendError as error:
            log.warning("answers cannot be looked for, trying again: %s", error)
        await aio.sleep(POLL)


def _mark(lease: Lease, *, asks: str | None, docs: Sequence[DocWrite]) -> Mark:
    return Mark(lease.id, lease.starts, asks=asks, docs=tuple(docs))


def _given(answer: Question) -> Any:
    """What a handler gets of an answer, or of none."""
    match answer.state:
        case "answered":
            return answer.data
        case "expired" if answer.on_expiry == "default" and answer.default is not UNSET:
            return answer.default
        case "expired" if answer.on_expiry != "decline":
            waited = answer.expires - answer.created
            raise QuestionExpired(f"nobody answered {answer.id} within {waited:g} s", question=answer.id)
        case _:
            action = "cancel" if answer.state == "cancelled" else "decline"
            raise QuestionDeclined(
                f"{answer.id} was not answered: {answer.state}", question=answer.id, action=action
            )
