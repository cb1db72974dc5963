"""The questions of a store as they are written there: read, listed, answered once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from noria import ids
from noria.backends.contract import Backend, Doc
from noria.codecs.flat import flaws, is_slow
from noria.errors import (
    AlreadyAnswered,
    Conflict,
    InvalidAnswer,
    InvalidInput,
    NoriaError,
    QuestionExpired,
    QuestionNotFound,
    QuestionSuperseded,
    WrongState,
    shown,
)
from noria.model import question as questions
from noria.model.job import Record
from noria.model.limits import MAX_ANSWER
from noria.model.names import check_text
from noria.model.question import AFTER, CLOSED, OPEN, Action, Question, Standing

_TRIES: Final = 20
"""How often an answer is tried again when somebody else was changing the question."""

Check = Callable[[Question], None]
"""Looks at a question as it was read, before anything is told of it; raises to refuse."""
Apart = Callable[..., Awaitable[None]]
"""Runs a function with these arguments off the event loop, such as `asyncio.to_thread`."""


def anything(question: Question) -> None:
    """Refuses nothing."""


class QuestionBook:
    """The questions of a store. Each coroutine raises `BackendError` if the backend does not answer.

    Args:
        backend: open.
        wall: the time, in seconds since the epoch.
        apart: runs what may take a second or two, such as to compare an answer with a pattern; None: here.
    """

    def __init__(self, backend: Backend, wall: Callable[[], float], apart: Apart | None = None) -> None:
        self._backend = backend
        self._wall = wall
        self._apart = apart

    async def page(self, after: str | None = None, most: int = 100) -> tuple[list[Question], str | None]:
        """Open questions behind an id, the oldest first; and behind which id to go on, unless that is all."""
        docs = await self._backend.scan(OPEN, after, most)
        now = self._wall()
        fresh = [each for each in map(questions.read, docs) if each.state == "open" and each.expires > now]
        jobs = await self._backend.get([ids.from_text(each.job) for each in fresh])
        found = [each for each, record in zip(fresh, jobs, strict=True) if _asks(record, each)]
        return found, docs[-1].name if docs else None

    async def get(self, id: str, check: Check = anything) -> Question:
        """One of them, however it stands, without the answer if that is secret.

        Raises:
            QuestionNotFound: there is none, or not any more.
        """
        question = (await self._read(id, check))[0]
        if question.state == "open":
            question = msgspec.structs.replace(question, state=await self._standing(question))
        return _without_secrets(question)

    async def _standing(self, question: Question) -> Standing:
        """How an open question stands whose start, or whose time, may be over."""
        record = await self._record(question)
        if not _asks(record, question):
            return "withdrawn" if record is None or record.state.final else "superseded"
        return "expired" if question.expires <= self._wall() else "open"

    async def get_open(self, id: str, check: Check = anything) -> Question:
        """One that can be answered now.

        Raises:
            QuestionNotFound, AlreadyAnswered, QuestionExpired, QuestionSuperseded, WrongState: as `answer`.
        """
        question = (await self._read(id, check))[0]
        if question.state != "open":
            raise _over(question)
        await self._check_open(question)
        return question

    async def of(self, record: Record) -> Question | None:
        """What a job asks, as its record was read; None if it does not ask."""
        if not record.question:
            return None
        try:
            return await self.get(record.question)
        except QuestionNotFound:
            return None  # it was closed since

    async def answer(
        self, id: str, action: Action, data: Any = None, *, by: str = "", check: Check = anything
    ) -> Question:
        """Answer a question. The first answer counts; the same one again is taken for it.

        Args:
            action: "accept" it with `data`, "decline" to answer, or "cancel" it without a choice.
            data: the answer, as JSON has it.
            by: who answers, for people.

        Returns:
            the question with the answer, which is left out if it is secret.

        Raises:
            QuestionNotFound: there is none, or not any more.
            AlreadyAnswered, QuestionExpired, QuestionSuperseded, WrongState: it cannot be answered any more.
            InvalidAnswer: the answer does not fit; the question stays open.
        """
        if action not in AFTER:
            raise InvalidInput(
                f'an action is "accept", "decline" or "cancel", not {shown(action)}', field="action"
            )
        if by:
            check_text("by", by, 128)
        data = data if action == "accept" else msgspec.UNSET
        for _ in range(_TRIES):
            question, doc = await self._read(id, check)
            if doc is None or question.state != "open":
                if question.state in AFTER.values() and question.same(action, data):
                    return _without_secrets(question)
                raise _over(question)
            await self._check_open(question)
            if self._apart is not None and is_slow(question.schema):
                await self._apart(_check_data, question, data)
            else:
                _check_data(question, data)
            answered = question.answered(action, data, by, self._wall())
            try:
                await self._backend.write([questions.answering(doc, answered)])
            except Conflict:
                continue
            await self._backend.notify(f"session:{question.session}")
            return _without_secrets(answered)
        raise Conflict(f"others keep changing question {id}: try again")

    async def _read(self, id: str, check: Check) -> tuple[Question, Doc | None]:
        """A question, with its document if it is not closed."""
        name = _name(id)
        for kind in (OPEN, CLOSED, OPEN):
            (doc,) = await self._backend.read(kind, [name])
            if doc is not None:
                question = questions.read(doc)
                check(question)
                return question, doc if kind == OPEN else None
        raise QuestionNotFound(f"there is no question {name}, or it was closed long ago", question=name)

    async def _record(self, question: Question) -> Record | None:
        (record,) = await self._backend.get([ids.from_text(question.job)])
        return record

    async def _check_open(self, question: Question) -> None:
        id = question.id
        if question.expires <= self._wall():
            raise _expired(question)
        record = await self._record(question)
        if _asks(record, question):
            return
        if record is None or record.state.final:
            raise WrongState(f"job {question.job} has ended, so nobody waits for the answer to {id}")
        following = record.question
        raise QuestionSuperseded(_superseded(id, following), question=id, following=following)


def _asks(record: Record | None, question: Question) -> bool:
    """Whether the start that asked still waits."""
    return record is not None and record.question == question.id


def _name(id: str) -> str:
    try:
        return ids.to_text(ids.from_text(id))
    except InvalidInput:
        raise QuestionNotFound(f"{shown(id)} is no id of a question") from None


def _check_data(question: Question, data: Any) -> None:
    if data is msgspec.UNSET:
        return
    try:
        size = len(msgspec.json.encode(data))
    except (ValueError, TypeError):
        raise InvalidAnswer("the answer cannot be written as JSON", flaws=(("", "is no JSON"),)) from None
    if size > MAX_ANSWER:
        raise InvalidAnswer(f"an answer has at most {MAX_ANSWER} bytes", flaws=(("", "is too large"),))
    if found := flaws(question.schema, data):
        words = "; ".join(f"{where or 'the answer'} {what}" for where, what in found[:5])
        raise InvalidAnswer(f"the answer does not fit: {words}", flaws=tuple(found))


def _over(question: Question) -> NoriaError:
    """What is said to who comes after the question was answered or closed."""
    id = question.id
    match question.state:
        case "expired":
            return _expired(question)
        case "superseded":
            following = question.following
            return QuestionSuperseded(_superseded(id, following), question=id, following=following)
        case "withdrawn":
            return WrongState(f"job {question.job} does not wait any more for the answer to {id}")
    return AlreadyAnswered(
        f"question {id} has been answered already: {question.state}", question=id, state=question.state
    )


def _expired(question: Question) -> QuestionExpired:
    return QuestionExpired(f"the time to answer question {question.id} is over", question=question.id)


def _superseded(id: str, following: str) -> str:
    instead = f"answer {following}, which is asked in its place" if following else "it will be asked again"
    return f"the start of the job that asked {id} is over: {instead}"


def _without_secrets(question: Question) -> Question:
    return msgspec.structs.replace(question, data=msgspec.UNSET) if question.secret else question
