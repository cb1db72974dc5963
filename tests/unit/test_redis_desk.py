"""How calls share rounds, and what a failure in the middle means to each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hiredis import ReplyError

from noria.backends.bells import Haul
from noria.backends.contract import Batch, DocWrite, Want
from noria.backends.redis.address import Address
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.course import Course
from noria.backends.redis.desk import Desk
from noria.backends.redis.faults import refused
from noria.backends.redis.group import grouped
from noria.backends.redis.lease import Take
from noria.backends.redis.push import Push, Pushes
from noria.backends.redis.settings import Settings
from noria.backends.redis.wire import Broken
from noria.clock import SystemClock
from noria.errors import ConfigError, Unavailable, Unknown
from noria.ids import IdSource, SessionId
from noria.model.job import NewJob
from noria.model.limits import MAX_BATCH

IDS = IdSource(SystemClock())
SETTINGS = Settings(address=Address(), timeout=5.0)
REFUSED = Unavailable("no")


def jobs(n: int = 1) -> list[NewJob]:
    return [NewJob(id=IDS.next(), task="send", queue="mail", body=b"[]") for _ in range(n)]


class Two(Call):
    """A call of two rounds."""

    def steps(self, settings: Settings) -> Steps:
        (first,) = yield [Request("look", ["one"])]
        (second,) = yield [Request("look", ["two"])]
        return first, second


class Reading(Two):
    writes = False


# -- one call


def test_a_call_hears_each_answer_at_its_place() -> None:
    course = Course(Two(), SETTINGS)
    course.begin()
    course.go_on([b"a"])
    assert not course.over
    course.go_on([b"b"])

    assert course.replies(1) == [(b"a", b"b")]


@pytest.mark.parametrize(("call", "kind"), [(Two(), Unknown), (Reading(), Unavailable)])
def test_a_refusal_after_a_part_was_done_says_that_nobody_knows(call: Call, kind: type[Exception]) -> None:
    course = Course(call, SETTINGS)
    course.begin()
    course.go_on([b"a"])
    course.go_on([REFUSED])

    (told,) = course.replies(1)
    assert type(told) is kind


def test_a_refusal_at_once_says_that_nothing_was_done() -> None:
    course = Course(Two(), SETTINGS)
    course.begin()
    course.go_on([REFUSED])

    assert course.replies(1) == [REFUSED]


# -- pushes


def asked(pushes: Pushes) -> list[Request]:
    course = Course(pushes, SETTINGS)
    course.begin()
    return list(course.requests)


def test_pushes_that_came_together_are_one_script() -> None:
    assert len(asked(Pushes([Push(jobs()) for _ in range(100)]))) == 1


def test_no_script_stores_more_than_a_thousand_jobs_of_several_calls() -> None:
    assert len(asked(Pushes([Push(jobs(400)) for _ in range(5)]))) == 3
    assert len(asked(Pushes([Push(jobs(MAX_BATCH)), Push(jobs(1))]))) == 2


def test_a_push_with_documents_stays_alone() -> None:
    docs = [DocWrite("key", "a", b"1")]

    assert len(asked(Pushes([Push(jobs()), Push(jobs(), docs), Push(jobs())]))) == 2


def test_a_refused_script_is_no_matter_of_the_others() -> None:
    docs = [DocWrite("key", "a", b"1")]
    course = Course(Pushes([Push(jobs()), Push(jobs(), docs)]), SETTINGS)
    course.begin()
    course.go_on([REFUSED, []])

    with_docs, plain = course.replies(2)[0], course.replies(2)[1]
    assert [each for each in (with_docs, plain) if each is REFUSED] == [REFUSED]
    assert [each for each in (with_docs, plain) if isinstance(each, list)] != []


def test_leases_come_last_and_pushes_first() -> None:
    take, two = Take(SessionId(1), [Want("mail", 1)], 1), Two()
    first, second = Push(jobs()), Push(jobs())

    order = grouped([take, first, two, second])

    assert [places for _, places in order] == [[1, 3], [2], [0]]


# -- rounds


class FakeLink:
    """Answers as it is told, so that a test decides what happens on the way."""

    def __init__(self, answer: Callable[[list[Request]], Any]) -> None:
        self.answer = answer
        self.asked: list[list[Request]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    is_ready = True

    def ask(self, requests: list[Request], told: Callable[[list[Any] | Broken], None]) -> None:
        self.asked.append(list(requests))
        self.going = asyncio.ensure_future(self._tell(requests, told))

    async def _tell(self, requests: list[Request], told: Callable[[list[Any] | Broken], None]) -> None:
        await self.gate.wait()
        told(self.answer(requests))

    def close(self) -> None: ...


def desk_on(link: FakeLink, heard: list[Batch] | None = None) -> Desk:
    unheard = [] if heard is None else heard
    return Desk(link, SETTINGS, lambda call, batch: unheard.append(batch))  # type: ignore[arg-type]  # a stand-in for a link


async def test_what_comes_while_a_round_is_on_its_way_shares_the_next_one() -> None:
    link = FakeLink(lambda requests: [b"x"] * len(requests))
    link.gate.clear()
    desk = desk_on(link)
    calls = [asyncio.ensure_future(desk.ask(Two())) for _ in range(3)]
    await asyncio.sleep(0.01)
    calls += [asyncio.ensure_future(desk.ask(Two())) for _ in range(4)]
    await asyncio.sleep(0.01)
    link.gate.set()

    assert await asyncio.gather(*calls) == [(b"x", b"x")] * 7
    assert [len(requests) for requests in link.asked] == [3, 7, 4]
    await desk.aclose()


async def test_a_broken_exchange_leaves_writes_unknown_and_reads_not_done() -> None:
    desk = desk_on(FakeLink(lambda requests: Broken("it was cut")))

    told = await asyncio.gather(desk.ask(Two()), desk.ask(Reading()), return_exceptions=True)

    assert [type(each) for each in told] == [Unknown, Unavailable]
    await desk.aclose()


async def test_a_fault_of_ours_is_answered_and_the_next_call_served() -> None:
    class Unasked(FakeLink):
        def ask(self, requests: list[Request], told: Callable[[list[Any] | Broken], None]) -> None:
            if not self.asked:
                self.asked.append(requests)
                raise ZeroDivisionError
            super().ask(requests, told)

    desk = desk_on(Unasked(lambda requests: [b"x"] * len(requests)))

    with pytest.raises((Unknown, ZeroDivisionError)):
        await desk.ask(Two())
    assert await desk.ask(Two()) == (b"x", b"x")
    await desk.aclose()


async def test_leases_that_nobody_waits_for_any_more_are_handed_back() -> None:
    from noria.backends.redis.heads import Head, pack

    head = pack(Head(state=3, starts=1, queue="mail", task="send"))
    reply = [b"", 1, 0, 0, IDS.next(), head, None, b"[]", None, None]
    link = FakeLink(lambda requests: [reply] * len(requests))
    link.gate.clear()
    heard: list[Batch] = []
    desk = desk_on(link, heard)
    call = asyncio.ensure_future(desk.ask(Take(SessionId(1), [Want("mail", 1)], 1)))
    await asyncio.sleep(0.01)
    call.cancel()
    link.gate.set()
    while not heard:
        await asyncio.sleep(0.01)

    assert [lease.starts for lease in heard[0].leases] == [1]
    assert isinstance(await desk.ask(Take(SessionId(1), [Want("mail", 1)], 1)), Haul)
    await desk.aclose()


async def test_closing_answers_everybody() -> None:
    link = FakeLink(lambda requests: [b"x"] * len(requests))
    link.gate.clear()
    desk = desk_on(link)
    going = asyncio.ensure_future(desk.ask(Two()))
    await asyncio.sleep(0.01)
    waiting = asyncio.ensure_future(desk.ask(Two()))
    await asyncio.sleep(0.01)

    await desk.aclose()

    told = await asyncio.gather(going, waiting, return_exceptions=True)
    assert [type(each) for each in told] == [Unknown, Unavailable]
    with pytest.raises(Unavailable, match="is closed"):
        await desk.ask(Two())


# -- what errors of the server mean


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("OOM command not allowed when used memory > 'maxmemory'.", Unavailable, "raise maxmemory"),
        ("READONLY You can't write against a read only replica.", Unavailable, "name the primary"),
        ("LOADING Redis is loading the dataset in memory", Unavailable, "will serve soon"),
        ("NOAUTH Authentication required.", ConfigError, "redis://:PASSWORD@HOST"),
        ("NOPERM this user has no permissions", ConfigError, "access rules"),
        ("MOVED 3999 127.0.0.1:6381", ConfigError, "cluster"),
        ("ERR user_script:3: attempt to index a nil value", Unknown, "failed"),
    ],
)
def test_an_error_of_the_server_names_it_and_the_remedy(text: str, kind: type[Exception], words: str) -> None:
    told = refused(ReplyError(text), Address(host="h", port=7, password="s3cret"))

    assert type(told) is kind
    assert words in str(told)
    assert "Redis at h:7" in str(told)
    assert "s3cret" not in str(told)
