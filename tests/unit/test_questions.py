"""What a job asks a person, and what it does with the answer: in virtual time, with the real worker and store."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest

import noria.testing
from noria import (
    AlreadyAnswered,
    Context,
    InvalidAnswer,
    JobCancelled,
    JobExpired,
    JobFailed,
    Noria,
    NotRunning,
    QuestionDeclined,
    QuestionExpired,
    QuestionNotFound,
    QuestionStatus,
    QuestionSuperseded,
    WrongState,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@dataclass
class Code:
    code: Annotated[str, msgspec.Meta(pattern="^[0-9]{6}$")]
    remember: bool = False


class Desk:
    """An application whose jobs ask."""

    def __init__(self) -> None:
        self.app = Noria("sqlite:///never-opened.db")
        self.notes: list[Any] = []

        @self.app.task(attempts=1)
        async def login(ctx: Context, phone: str) -> str:
            session = object()
            before = ctx.previous_answer
            if before is not None:
                return "before:" + before.convert(str)
            code = await ctx.ask("Code sent to " + phone, timeout=300)
            self.notes.append(session)
            return code

        @self.app.task
        async def note(what: str) -> None:
            self.notes.append(what)

        self.login, self.note = login, note


@pytest.fixture
def desk() -> Desk:
    return Desk()


def asks(app: Noria, **options: Any) -> Any:
    """A task that asks with these options, and returns the answer."""

    async def ask(ctx: Context) -> Any:
        return await ctx.ask("?", **options)

    return app.task(attempts=1)(ask)


async def test_the_same_coroutine_goes_on_with_the_answer(desk: Desk) -> None:
    async with noria.testing.run(desk.app, now=NOON) as t:
        job = await desk.login.enqueue("555")
        asked = await t.asked(job)
        status = await job.status()

        assert (asked.message, asked.task, asked.state, status.state) == (
            "Code sent to 555",
            desk.login.name,
            "open",
            "asking",
        )
        assert (asked.created_at, (asked.expires_at - asked.created_at).total_seconds()) == (NOON, 300)

        answered = await job.answer("123456", by="me")

        assert await job == "123456"
        assert (answered.state, answered.answer, answered.answered_by) == ("answered", "123456", "me")
        assert len((await job.status()).log) == 1
        assert t.now == NOON


async def test_open_questions_are_listed_the_oldest_first_and_no_others(desk: Desk) -> None:
    async with noria.testing.run(desk.app) as t:
        first, second, third = [await desk.login.enqueue(phone) for phone in "abc"]
        ids = [(await t.asked(job)).id for job in (first, second, third)]
        await second.answer("1")
        await second

        assert [each.id async for each in desk.app.questions] == [ids[0], ids[2]]


async def test_a_job_that_asks_takes_no_slot(desk: Desk) -> None:
    async with noria.testing.run(desk.app, concurrency=1) as t:
        jobs = [await desk.login.enqueue(str(n)) for n in range(3)]
        for job in jobs:
            await t.asked(job)
        await desk.note.enqueue("x")
        await t.drain()
        assert desk.notes == ["x"]

        for job in jobs:
            await job.answer("1")
        assert [await job for job in jobs] == ["1"] * 3


async def test_who_comes_back_waits_for_a_slot_and_is_first_in_line(desk: Desk) -> None:
    @desk.app.task
    async def slow() -> None:
        desk.notes.append("slow")
        await asyncio.sleep(60)
        desk.notes.append("slow ends")

    async with noria.testing.run(desk.app, concurrency=1) as t:
        asker = await desk.login.enqueue("1")
        await t.asked(asker)
        await t.started(await slow.enqueue())
        await desk.note.enqueue("later")
        await asker.answer("1")
        await asker
        await t.drain()

    assert desk.notes[:2] == ["slow", "slow ends"]
    assert desk.notes[3] == "later"


async def test_more_may_not_ask_than_a_worker_allows(desk: Desk) -> None:
    async with noria.testing.run(desk.app, max_asking=1) as t:
        first, second = await desk.login.enqueue("1"), await desk.login.enqueue("2")
        await t.asked(first)
        assert (await second.status()).state == "running"

        await first.answer("a")
        await t.asked(second)
        await second.answer("b")
        assert [await first, await second] == ["a", "b"]


# ---- time


async def test_a_question_that_nobody_answers_expires_and_fails_the_job(desk: Desk) -> None:
    async with noria.testing.run(desk.app, now=NOON) as t:
        job = await desk.login.enqueue("1")
        asked = await t.asked(job)

        with pytest.raises(JobFailed, match="QuestionExpired"):
            await job
        assert (t.now - NOON).total_seconds() == pytest.approx(300, abs=1)
        assert (await desk.app.questions.get(asked.id)).state == "expired"
        with pytest.raises(QuestionExpired):
            await desk.app.questions.answer(asked.id, "late")


async def test_a_default_is_what_nobody_had_to_say(desk: Desk) -> None:
    task = asks(desk.app, schema=int, timeout=5, default=7)

    async with noria.testing.run(desk.app):
        assert await (await task.enqueue()) == 7


async def test_what_expires_can_count_as_declined(desk: Desk) -> None:
    task = asks(desk.app, timeout=5, on_expiry="decline")

    async with noria.testing.run(desk.app):
        with pytest.raises(JobFailed, match="QuestionDeclined"):
            await (await task.enqueue())


async def test_a_handler_can_tell_an_expired_question_from_a_declined_one(desk: Desk) -> None:
    @desk.app.task
    async def told(ctx: Context) -> str:
        try:
            return await ctx.ask("?", timeout=5)
        except QuestionExpired:
            return "expired"
        except QuestionDeclined as declined:
            return declined.action

    async with noria.testing.run(desk.app) as t:
        jobs = [await told.enqueue() for _ in range(3)]
        await t.asked(jobs[0])
        await jobs[0].answer(action="decline")
        await t.asked(jobs[1])
        await jobs[1].answer(action="cancel")

        assert [await job for job in jobs] == ["decline", "cancel", "expired"]


async def test_the_time_limit_stands_still_while_a_job_asks(desk: Desk) -> None:
    @desk.app.task(timeout=10, attempts=1)
    async def ask(ctx: Context) -> str:
        await asyncio.sleep(6)
        answer = await ctx.ask("?", timeout=3600)
        await asyncio.sleep(3)
        return answer

    @desk.app.task(timeout=10, attempts=1)
    async def slow(ctx: Context) -> None:
        await asyncio.sleep(6)
        await ctx.ask("?", timeout=3600)
        await asyncio.sleep(5)

    async with noria.testing.run(desk.app) as t:
        for task, ends in ((ask, "succeeded"), (slow, "failed")):
            job = await task.enqueue()
            await t.asked(job)
            await t.advance(1000)
            await job.answer("yes")
            await t.drain()
            await t.advance(60)
            assert (await job.status()).state == ends


async def test_a_deadline_does_not_wait_for_an_answer(desk: Desk) -> None:
    async with noria.testing.run(desk.app, now=NOON) as t:
        job = await desk.login.options(deadline=60).enqueue("1")
        asked = await t.asked(job)

        with pytest.raises(JobExpired):
            await job
        assert (t.now - NOON).total_seconds() == pytest.approx(60, abs=1)
        with pytest.raises(WrongState):
            await desk.app.questions.answer(asked.id, "late")


# ---- who answers


async def test_the_first_answer_counts_and_the_same_one_again_is_no_other(desk: Desk) -> None:
    async with noria.testing.run(desk.app) as t:
        job = await desk.login.enqueue("1")
        asked = await t.asked(job)

        await desk.app.questions.answer(asked.id, "a")
        assert (await desk.app.questions.answer(asked.id, "a")).state == "answered"
        with pytest.raises(AlreadyAnswered):
            await desk.app.questions.answer(asked.id, "b")
        assert await job == "a"

        # Nor once it was read.
        assert (await desk.app.questions.answer(asked.id, "a")).answer == "a"
        with pytest.raises(AlreadyAnswered):
            await desk.app.questions.answer(asked.id, "b")
        with pytest.raises(AlreadyAnswered):
            await desk.app.questions.answer(asked.id, action="decline")


async def test_of_many_that_answer_at_once_one_is_heard(desk: Desk) -> None:
    async with noria.testing.run(desk.app) as t:
        job = await desk.login.enqueue("1")
        asked = await t.asked(job)

        told = await asyncio.gather(
            *(desk.app.questions.answer(asked.id, str(n)) for n in range(20)), return_exceptions=True
        )

        heard = [each for each in told if not isinstance(each, BaseException)]
        assert [each.answer for each in heard] == [await job]
        assert all(isinstance(each, AlreadyAnswered) for each in told if isinstance(each, BaseException))


async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(desk: Desk) -> None:
    @desk.app.task(attempts=1)
    async def task(ctx: Context) -> str:
        return repr(await ctx.ask("?", schema=Code))

    async with noria.testing.run(desk.app) as t:
        job = await task.enqueue()
        await t.asked(job)
        for data, where in (
            ({"code": "12"}, "/code"),
            ({}, "/code"),
            ({"code": "123456", "remember": 1}, "/remember"),
            ({"code": "123456", "more": 1}, "/more"),
            ("123456", ""),
        ):
            with pytest.raises(InvalidAnswer) as refused:
                await job.answer(data)
            assert [pointer for pointer, _ in refused.value.flaws] == [where]

        assert (await job.status()).state == "asking"
        await job.answer({"code": "123456"})
        assert await job == "Code(code='123456', remember=False)"


async def test_there_is_nothing_to_answer_where_nothing_is_asked(desk: Desk) -> None:
    async with noria.testing.run(desk.app):
        job = await desk.note.options(delay=60).enqueue("x")

        assert await job.question() is None
        with pytest.raises(QuestionNotFound):
            await job.answer("?")
        for id in ("nonsense", job.id):
            with pytest.raises(QuestionNotFound):
                await desk.app.questions.answer(id, "?")


async def test_a_secret_answer_is_nowhere_once_it_was_read(desk: Desk) -> None:
    @desk.app.task(attempts=1)
    async def ask(ctx: Context) -> int:
        return len(await ctx.ask("PIN?", secret=True))

    async with noria.testing.run(desk.app) as t:
        job = await ask.enqueue()
        asked = await t.asked(job)
        told = await desk.app.questions.answer(asked.id, "hunter2")
        between = await desk.app.questions.get(asked.id)
        assert await job == 7
        after = await desk.app.questions.get(asked.id)

        assert [told.answer, between.answer, after.answer] == [None, None, None]
        for kind in ("question", "question-closed"):
            assert not any(b"hunter2" in doc.data for doc in await desk.app.backend.scan(kind))


# ---- cancel, crash, drain


async def test_a_job_that_asks_is_cancelled_at_once(desk: Desk) -> None:
    async with noria.testing.run(desk.app, now=NOON) as t:
        job = await desk.login.enqueue("1")
        asked = await t.asked(job)
        await job.cancel("enough")

        with pytest.raises(JobCancelled, match="enough"):
            await job
        assert t.now == NOON
        assert (await desk.app.questions.get(asked.id)).state == "withdrawn"
        with pytest.raises(WrongState):
            await desk.app.questions.answer(asked.id, "late")
        assert [each async for each in desk.app.questions] == []


async def test_who_dies_asking_asks_again_and_the_old_question_names_the_new_one(desk: Desk) -> None:
    async with noria.testing.run(desk.app) as t:
        job = await desk.login.enqueue("1")
        old = await t.asked(job)
        await t.kill()
        new = await t.asked(job)

        assert new.id != old.id
        with pytest.raises(QuestionSuperseded) as refused:
            await desk.app.questions.answer(old.id, "late")
        assert (refused.value.question, refused.value.following) == (old.id, new.id)
        assert (await desk.app.questions.get(old.id)).state == "superseded"
        await job.answer("1")
        assert await job == "1"


async def test_an_answer_that_came_although_the_worker_died_is_offered_to_the_next_start(desk: Desk) -> None:
    held = asyncio.Event()

    @desk.app.task
    async def block() -> None:
        await held.wait()

    async with noria.testing.run(desk.app, concurrency=1) as t:
        job = await desk.login.enqueue("1")
        asked = await t.asked(job)
        # Its worker has no slot for it, so the answer is not read before it dies.
        blocker = await block.enqueue()
        await t.started(blocker)
        await desk.app.questions.answer(asked.id, "5")
        await t.kill()
        held.set()

        assert await job == "before:5"
        assert (await desk.app.questions.get(asked.id)).state == "answered"


async def test_a_handler_that_gives_up_waiting_withdraws_its_question(desk: Desk) -> None:
    @desk.app.task(attempts=1)
    async def ask(ctx: Context) -> str:
        try:
            async with asyncio.timeout(5):
                return await ctx.ask("?")
        except TimeoutError:
            return "gave up"

    async with noria.testing.run(desk.app) as t:
        job = await ask.enqueue()
        asked = await t.asked(job)

        assert await job == "gave up"
        assert (await desk.app.questions.get(asked.id)).state == "withdrawn"


async def test_a_handler_may_ask_several_times_but_one_at_a_time(desk: Desk) -> None:
    @desk.app.task(attempts=1)
    async def ask(ctx: Context) -> list[str]:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ctx.ask("a"))
            await asyncio.sleep(1)
            with pytest.raises(NotRunning, match="one question at a time"):
                await ctx.ask("b")
            first.cancel()
        return [await ctx.ask("c"), await ctx.ask("d")]

    async with noria.testing.run(desk.app) as t:
        job = await ask.enqueue()
        for message in "cd":
            while (await t.asked(job)).message != message:
                await t.advance(1)
            await job.answer(message)
        assert await job == ["c", "d"]


# ---- what cannot be


@pytest.mark.parametrize("executor", ["thread", "process"])
async def test_only_async_handlers_can_ask(desk: Desk, executor: Literal["thread", "process"]) -> None:
    @desk.app.task(executor=executor, attempts=1)
    def ask(ctx: Context) -> None:
        ctx.ask("?").close()

    async with noria.testing.run(desk.app):
        with pytest.raises(JobFailed, match="async def"):
            await (await ask.enqueue())


class Nested(msgspec.Struct):
    inner: Code


@pytest.mark.parametrize(
    "options",
    [
        {"schema": Nested},
        {"schema": list[int]},
        {"schema": bytes},
        {"schema": dict[str, str]},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"on_expiry": "default"},
        {"on_expiry": "shrug"},
        {"schema": int, "default": "x"},
        {"name": "\n"},
    ],
    ids=lambda options: "-".join(options),
)
async def test_a_question_that_nobody_could_answer_is_refused(desk: Desk, options: dict[str, Any]) -> None:
    task = asks(desk.app, **options)

    async with noria.testing.run(desk.app):
        with pytest.raises(JobFailed, match="InvalidOption"):
            await (await task.enqueue())


async def test_explain_says_what_is_asked_and_until_when(desk: Desk) -> None:
    async with noria.testing.run(desk.app, now=NOON) as t:
        job = await desk.login.enqueue("555")
        asked = await t.asked(job)

        assert await job.explain() == (
            "asking: Code sent to 555, until 2030-01-01 12:05:00 UTC (in 5 min): answer question " + asked.id
        )


# ---- every end has a name of its own


@pytest.mark.parametrize(
    ("say", "state"),
    [
        ({"data": "yes"}, "answered"),
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "cancelled"),
    ],
)
async def test_who_comes_too_late_is_told_what_the_first_has_said(
    desk: Desk, say: dict[str, Any], state: str
) -> None:
    async with noria.testing.run(desk.app) as t:
        job = await desk.login.enqueue("1")
        asked = await t.asked(job)
        assert (await job.answer(**say)).state == state
        await t.drain()

        with pytest.raises(AlreadyAnswered) as refused:
            await desk.app.questions.answer(asked.id, "other")
        assert (refused.value.question, refused.value.state) == (asked.id, state)
        assert (await desk.app.questions.get(asked.id)).state == state


# ---- who is told of a question


async def test_who_is_to_be_told_gets_the_question_with_its_link_each_time_it_is_asked(desk: Desk) -> None:
    told: list[QuestionStatus] = []

    @desk.app.task(attempts=1)
    async def ask(ctx: Context) -> str:
        return await ctx.ask("?", name="code", notify=told.append)

    async with noria.testing.run(desk.app) as t:
        job = await ask.enqueue()
        first = await t.asked(job)
        await t.kill()
        second = await t.asked(job)
        await job.answer("yes")

        assert await job == "yes"
        assert [(each.id, each.name, each.state) for each in told] == [
            (first.id, "code", "open"),
            (second.id, "code", "open"),
        ]
        assert [each.answer_url for each in told] == [first.answer_url, second.answer_url]
        assert first.answer_url.startswith("/answer/") and first.answer_url != second.answer_url
        assert (await desk.app.questions.get(second.id)).answer_url == ""


async def test_an_answer_that_comes_while_the_link_is_being_sent_is_heard_at_once(desk: Desk) -> None:
    async def fast(question: QuestionStatus) -> None:
        await desk.app.questions.answer(question.id, "fast")

    ask = asks(desk.app, notify=fast)

    async with noria.testing.run(desk.app, now=NOON) as t:
        assert await (await ask.enqueue()) == "fast"
        assert t.now == NOON


async def test_a_link_that_cannot_be_sent_withdraws_the_question_and_is_the_handlers_to_deal_with(
    desk: Desk,
) -> None:
    sent: list[QuestionStatus] = []

    async def broken(question: QuestionStatus) -> None:
        sent.append(question)
        raise ConnectionError("no network")

    @desk.app.task(attempts=1)
    async def ask(ctx: Context) -> str:
        try:
            return await ctx.ask("?", notify=broken)
        except ConnectionError as error:
            return str(error)

    async with noria.testing.run(desk.app):
        assert await (await ask.enqueue()) == "no network"
        assert (await desk.app.questions.get(sent[0].id)).state == "withdrawn"


async def test_what_cannot_be_told_is_refused_before_anything_is_asked(desk: Desk) -> None:
    ask = asks(desk.app, notify="someone@example.com")

    async with noria.testing.run(desk.app):
        job = await ask.enqueue()

        with pytest.raises(JobFailed, match="must be a function, not 'someone"):
            await job
        assert [each async for each in desk.app.questions] == []


async def test_a_question_whose_job_has_ended_for_good_is_withdrawn_and_not_asked_anew(desk: Desk) -> None:
    """Nobody is left to close it: its worker died, and the job was cancelled before it ran again."""

    @desk.app.task(attempts=1, crashes=1)
    async def ask(ctx: Context) -> str:
        return await ctx.ask("?")

    async with noria.testing.run(desk.app) as t:
        job = await ask.enqueue()
        asked = await t.asked(job)
        await t.kill()
        with pytest.raises(JobFailed):
            await job

        assert (await desk.app.questions.get(asked.id)).state == "withdrawn"
        with pytest.raises(WrongState):
            await desk.app.questions.answer(asked.id, "late")


@pytest.mark.parametrize(("pattern", "text"), [("^(a+)+$", "a" * 40 + "!"), ("(x*)*y", "x" * 60)])
async def test_a_pattern_that_takes_for_ever_holds_up_nobody_and_takes_no_answer(
    desk: Desk, pattern: str, text: str
) -> None:
    """Who answers is a stranger, and `re` has no limit of its own."""

    @desk.app.task(attempts=1)
    async def task(ctx: Context) -> str:
        return await ctx.ask("?", schema=Annotated[str, msgspec.Meta(pattern=pattern)])

    async with noria.testing.run(desk.app) as t:
        job = await task.enqueue()
        await t.asked(job)

        with pytest.raises(InvalidAnswer, match="takes too long"):
            await job.answer(text)

        assert (await job.status()).state == "asking"


async def test_jobs_that_have_crashed_with_their_worker_ask_side_by_side(desk: Desk) -> None:
    """Jobs that are suspected of crashing their process run one at a time; one that asks only waits."""
    ask = asks(desk.app, timeout=3_600)

    async with noria.testing.run(desk.app) as t:
        jobs = [await ask.enqueue() for _ in range(3)]
        for _ in range(2):
            for job in jobs:
                await t.asked(job)
            await t.kill()

        questions = [await t.asked(job) for job in jobs]
        for question in questions:
            await desk.app.questions.answer(question.id, "yes")

        assert [await job for job in jobs] == ["yes"] * 3
        assert {(await job.status()).crashes for job in jobs} == {2}
