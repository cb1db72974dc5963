"""Scripts of Redis have a short way for one usual job: it leaves what their long way leaves."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from msgspec import structs

from noria.backends.contract import (
    Batch,
    Change,
    Limit,
    Parts,
    Pause,
    QueueRef,
    Resume,
    Verdict,
    Want,
    WorkerCard,
)
from noria.backends.redis import RedisBackend, scripts, talk
from noria.errors import BackendError
from noria.ids import IdSource, SessionId
from noria.model.claim import Claim
from noria.model.groups import Grouped, GroupRef, Need, Rule
from noria.model.job import Extras, Lane, Lease, NewJob
from noria.model.mark import Mark
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.manual import ManualClock
from tests.support.redis import Client, drop_namespace, fresh_namespace, missing, server

pytestmark = [
    pytest.mark.xdist_group("redis"),
    pytest.mark.skipif(bool(missing()), reason="there is no Redis on this machine"),
]

WAYS = {"push": "one_push", "lease": "one_lease", "settle": "one_success"}
QUEUES = ("mail", "bulk")
RULE = Rule(limit=1)


class Place:
    """A namespace of its own, in which the same calls make the same ids at the same times."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.namespace = fresh_namespace()
        self.clock = ManualClock()
        self.ids = IdSource(self.clock, random.Random(seed).randbytes)
        self.backend = RedisBackend(
            server(self.namespace), clock=self.clock, ids=self.ids, server_time=False, **options
        )

    def job(self, **fields: Any) -> NewJob:
        return NewJob(**{"id": self.ids.next(), "task": "send", "queue": "mail", "body": b"[1]", **fields})

    async def worker(self) -> SessionId:
        card = WorkerCard(worker="w", host="h", pid=1, tasks=("send", "count"), queues=QUEUES, ttl=60.0)
        return await self.backend.open(card)

    def forget(self, session: SessionId) -> None:
        """Have a session be over, and its jobs still be its own, as they are while they are given back in portions."""
        address = server(self.namespace)
        with Client(address) as client:
            client.ask("ZREM", address.prefix + b"sessions", str(session))

    def stored(self) -> dict[bytes, Any]:
        """Everything that is there, by its key within the namespace."""
        prefix = server(self.namespace).prefix
        with Client(server(self.namespace)) as client:
            keys, cursor = [], b""
            while cursor != b"0":
                cursor, some = client.ask("SCAN", cursor or b"0", "MATCH", prefix + b"*", "COUNT", 1000)
                keys += some
            return {key.removeprefix(prefix): value_of(client, key) for key in keys}


@contextmanager
def hearing(place: Place) -> Iterator[list[tuple[bytes, bytes]]]:
    """All hints that are given meanwhile; they are there at the end."""
    address = server(place.namespace)
    heard: list[tuple[bytes, bytes]] = []
    last = address.prefix + b"hint:last"
    with Client(address) as ear, Client(address) as mouth:
        ear.ask("PSUBSCRIBE", address.prefix + b"hint:*")
        yield heard
        mouth.ask("PUBLISH", last, b"")
        while (message := ear.hear())[2] != last:
            heard.append((message[2].removeprefix(address.prefix), message[3]))


def value_of(client: Client, key: bytes) -> Any:
    match client.ask("TYPE", key):
        case b"hash":
            flat = client.ask("HGETALL", key)
            return dict(zip(flat[::2], flat[1::2], strict=True))
        case b"zset":
            return client.ask("ZRANGE", key, 0, -1, "WITHSCORES")
        case b"set":
            return sorted(client.ask("SMEMBERS", key))
        case b"list":
            return client.ask("LRANGE", key, 0, -1)
        case _:
            return client.ask("GET", key)


@contextmanager
def changed(texts: dict[str, str]) -> Iterator[None]:
    """Scripts that are made of other texts."""
    read = scripts.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "read", lambda name: texts.get(name, read(name)))
        patch.setattr(talk, "script", cache(scripts.script.__wrapped__))
        yield


def only_long() -> dict[str, str]:
    return {f"lib/{piece}": "local is_done = false\n" for piece in WAYS.values()}


def only_short() -> dict[str, str]:
    """Scripts that fail where their long way begins."""
    return {name: f"{head_of(name)}redis.call('NONE')\n" for name in WAYS}


def head_of(name: str) -> str:
    lines = scripts.read(name).splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith(("#!", "--")))


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    place = Place(0)
    await place.backend.start()
    yield place
    await place.backend.aclose()
    drop_namespace(place.namespace)


# ---- both ways leave the same


RARE: dict[str, tuple[Any, ...]] = {
    "keep": (0.0, 5.0),
    "delay": (0.5, 100.0),
    "at": (3.0, -3.0),
    "expires": (1.0, 1_000.0),
    "deadline": (2.0, 1_000.0),
    "unique": ("a", "b"),
    "extras": (Extras(tags=("red",)), Extras(correlation_id="c")),
    "group": (Grouped(GroupRef("host", "example.org"), RULE),),
    "needs": ((Need("tunnel", capacity=1),),),
}
"""What some jobs of a walk have; times are from now."""

STEER = (
    Pause(by="alice"),
    Resume(),
    Limit(concurrency=1),
    Limit(max_length=3),
    Limit(high_water={"bulk": 1}),
    Limit(concurrency=None, max_length=None, high_water=None),
)
ODD = ("nothing", *RARE, "claim", "after", "cancel", "mark", "steer", "end")


class Walk:
    """Calls about single jobs, drawn by chance.

    Args:
        odd: what is unusual about some of the jobs, or happens to them.
    """

    def __init__(self, place: Place, seed: int, odd: str) -> None:
        self._place, self._backend, self._odd = place, place.backend, odd
        self._chance = random.Random(seed)
        self._sessions: list[SessionId] = []
        self._known: list[NewJob] = []
        self._held: list[tuple[SessionId, Lease]] = []
        self.answers: list[Any] = []

    async def run(self, steps: int) -> None:
        self._sessions = [await self._place.worker(), await self._place.worker()]
        acts = [self._push] * 6 + [self._lease] * 7 + [self._settle] * 6 + [self._repeat]
        odd = {"cancel": self._cancel, "mark": self._mark, "steer": self._steer, "end": self._end}.get(
            self._odd
        )
        acts += [odd] * 3 if odd is not None else []
        for _ in range(steps):
            self._place.clock.advance(self._chance.choice((0.0, 0.001, 0.7, 3.0)))
            self.answers.append(await self._chance.choice(acts)())
        ids = [job.id for job in self._known]
        self.answers.append(await self._backend.get(ids, Parts.BODY | Parts.RESULT | Parts.LOG))

    async def _push(self) -> Any:
        job = self._place.job(**self._fields())
        self._known.append(job)
        return await self._backend.push([job])

    async def _repeat(self) -> Any:
        return await self._backend.push([self._chance.choice(self._known)]) if self._known else None

    def _fields(self) -> dict[str, Any]:
        choice = self._chance.choice
        fields = {
            "task": choice(("send", "count")),
            "queue": choice(QUEUES),
            "lane": choice((Lane.LOOP, Lane.LOOP, Lane.THREAD)),
            "priority": choice((0, 0, 0, 3, -9)),
            "reply": choice((None, "reply:one", "reply:two")),
        }
        return fields | (self._oddity() if self._chance.random() < 0.3 else {})

    def _oddity(self) -> dict[str, Any]:
        choice, odd = self._chance.choice, self._odd
        if odd == "claim":
            return {
                "unique": choice(("a", "b")),
                "claim": choice((Claim(until_start=True), Claim(within=30.0))),
            }
        if odd == "after":
            return {"extras": Extras(after=(choice(self._known).id.hex(),))} if self._known else {}
        if odd not in RARE:
            return {}
        value = choice(RARE[odd])
        return {odd: self._place.clock.wall() + value if odd in ("at", "expires", "deadline") else value}

    async def _lease(self) -> Any:
        session, limit = self._chance.choice(self._sessions), self._chance.choice((1, 1, 2, 100))
        lane = self._chance.choice((Lane.LOOP, Lane.LOOP, Lane.THREAD))
        queues = self._chance.choice((QUEUES, QUEUES[:1], QUEUES[1:]))
        wants = [
            Want(queue, self._chance.choice((0, limit)), 0, suspect=False, lane=lane) for queue in queues
        ]
        batch = await self._backend.lease(session, wants, limit, 0)
        self._held += [(session, lease) for lease in batch.leases]
        return batch

    async def _settle(self) -> Any:
        if not self._held:
            return None
        session, lease = self._chance.choice(self._held)
        starts = lease.starts + self._chance.choice((0, 0, 0, 0, 0, 1))
        session = self._chance.choice((session, session, session, *self._sessions))
        if self._chance.random() < 0.15:
            failure = Failure.of("exception", "no")
            end = Settlement(lease.id, starts, Outcome.FAILED, State.RETRYING, 1.0, failure=failure)
        else:
            result, codec = self._chance.choice(RESULTS)
            end = Settlement(lease.id, starts, Outcome.SUCCEEDED, State.SUCCEEDED, 0.0, result, codec)
            close = (
                self._place.clock.wall() + 5.0
                if self._odd == "group" and self._chance.random() < 0.3
                else 0.0
            )
            end = structs.replace(end, close=close)
        return await self._backend.settle(session, [end])

    async def _steer(self) -> Any:
        return await self._backend.steer(QueueRef("mail"), self._chance.choice(STEER))

    async def _cancel(self) -> Any:
        one = self._chance.choice(self._known).id if self._known else self._place.ids.next()
        return await self._backend.alter([one], Change(kind="cancel"))

    async def _mark(self) -> Any:
        if not self._held:
            return None
        session, lease = self._chance.choice(self._held)
        return await self._backend.mark(session, [Mark(lease.id, lease.starts, checkpoint=b"7")])

    async def _end(self) -> Any:
        """One of the workers is over, in part or whole, and another one begins; it goes on as if it did not know."""
        gone = self._chance.choice(self._sessions)
        self._sessions.append(await self._place.worker())
        if self._chance.random() < 0.5:
            return self._place.forget(gone)
        return await self._backend.end(gone, if_beat=None, started=None)


RESULTS = (
    *((b"17", "json"), (b'"\xc3\xa9"', "json"), (b"", "json"), (None, "json"), (b"\xff\0", "raw")),
    *((b"8" * 4_050, "json"), (b"8" * 5_000, "json"), (b'"' + b"\\\\" * 1_500 + b'"', "json")),
)


@pytest.mark.parametrize("cap", [3, 1_000])
@pytest.mark.parametrize("odd", ODD)
async def test_the_short_way_leaves_what_the_long_way_leaves(odd: str, cap: int) -> None:
    found = []
    for texts in ({}, only_long()):
        place = Place(7, keep_succeeded=15.0, keep_succeeded_at_most=cap)
        walk = Walk(place, 7, odd)
        with changed(texts):
            await place.backend.start()
            try:
                with hearing(place) as heard:
                    await walk.run(300)
                found.append((walk.answers, heard, place.stored()))
            finally:
                await place.backend.aclose()
                drop_namespace(place.namespace)

    short, long = found
    assert short == long


# ---- who goes the short way


async def test_a_usual_job_goes_the_short_way_from_its_push_to_its_end(place: Place) -> None:
    session = await place.worker()
    with changed(only_short()):
        job = place.job(reply="reply:me", priority=3)
        await place.backend.push([job])
        batch = await place.backend.lease(session, [Want(queue, 5) for queue in QUEUES], 10, 0)
        nothing = await place.backend.lease(session, [Want(queue, 5) for queue in QUEUES], 10, 0)
        [verdict] = await place.backend.settle(session, [success(batch)])

    assert [lease.id for lease in batch.leases] == [job.id]
    assert nothing.leases == []
    assert verdict is Verdict.OK


@pytest.mark.parametrize(
    "fields", [{"delay": 1.0}, {"unique": "a"}, {"needs": (Need("tunnel"),)}, {"expires": 2e9}]
)
async def test_an_unusual_job_goes_the_long_way(place: Place, fields: dict[str, Any]) -> None:
    with changed(only_short()), pytest.raises(BackendError):
        await place.backend.push([place.job(**fields)])


async def test_two_jobs_go_the_long_way(place: Place) -> None:
    with changed(only_short()), pytest.raises(BackendError):
        await place.backend.push([place.job(), place.job()])


def success(batch: Batch) -> Settlement:
    [lease] = batch.leases
    return Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
