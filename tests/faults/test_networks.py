"""Peers that are silent, gone without a word, or slow, and callers who leave: rows B4, B5, B7, B8 and B26."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import noria
import noria.testing
from noria.backends.contract import Backend, Parts, Vitals, Want
from noria.errors import BackendError, Unavailable, Unknown
from noria.model.job import NewJob
from tests.conftest import STORM
from tests.faults.acts import ACTS, Act, Get, LeaseSome, Push, Renew, card
from tests.faults.sites import Site, heard_at_last, insisted, site_on, until
from tests.support import redis

pytestmark = [pytest.mark.slow, pytest.mark.storm, pytest.mark.timeout(3_600 if STORM else 180)]

BOUND = 1.0
SLACK = 15.0
"""Seconds that a busy machine may take beyond a bound; a call without an end takes longer."""
NEVER = 3_600.0
ROUNDS = 1_000 if STORM else 30


@pytest.fixture(params=["redis", "postgres"])
async def site(request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    async with site_on(request.param) as site:
        yield site


async def fails(call: Awaitable[Any]) -> BackendError:
    """The error by which a call ends in time."""
    async with asyncio.timeout(BOUND + SLACK):
        with pytest.raises((Unavailable, Unknown)) as told:
            await call
    error: BackendError = told.value
    return error


async def ends(call: Awaitable[Any]) -> None:
    """See that a call ends in time; what is not done yet may be done over another connection."""
    async with asyncio.timeout(BOUND + SLACK):
        with contextlib.suppress(Unavailable, Unknown):
            await call


async def arranged(site: Site) -> list[Act]:
    acts: list[Act] = [act() for name, act in ACTS.items() if name != "notify"]
    for act in acts:
        await act.arrange(site.sure)
    return acts


async def go_on(site: Site, backend: Backend, acts: list[Act]) -> None:
    """Every call is answered rightly now, and was done once."""
    for act in acts:
        act.check(await insisted(lambda act=act: act.again(backend)))  # type: ignore[misc]  # it is this turn's
        await act.final(site.sure)


# ---- a server that says nothing


async def test_every_call_to_a_silent_server_ends_in_time_and_goes_on_over_another_connection(
    site: Site,
) -> None:
    """B4."""
    async with site.opened(timeout=BOUND) as backend:
        acts = await arranged(site)
        site.proxy.silence()
        errors = await asyncio.gather(*(fails(act.call(backend)) for act in acts))
        before = site.proxy.accepted
        # What it has not read yet, it never will.
        site.proxy.forget()
        site.proxy.heal()

        for act, error in zip(acts, errors, strict=True):
            assert not (isinstance(error, Unavailable) and await act.done(site.sure))
        await go_on(site, backend, acts)
        assert site.proxy.accepted > before


async def test_a_call_that_a_silent_server_does_late_after_all_is_done_once(site: Site) -> None:
    """B4, B9: its answer goes to nobody."""
    async with site.opened(timeout=BOUND) as backend:
        push, get = Push(), Get()
        await get.arrange(site.sure)
        await backend.push([])
        site.proxy.silence()
        await fails(push.call(backend))
        site.proxy.heal()

        get.check(await insisted(lambda: get.call(backend)))
        push.check(await insisted(lambda: push.call(backend)))
        await push.final(site.sure)


async def test_a_silent_server_is_not_waited_for_when_a_backend_opens(site: Site) -> None:
    """B4."""
    site.proxy.silence()
    backend = site.make(timeout=BOUND)

    error = await fails(backend.start())

    assert isinstance(error, Unavailable)
    await backend.aclose()


@pytest.mark.parametrize("way", ["silent", "half-open", "slow"])
async def test_a_keeper_ends_its_calls_in_time_and_goes_on_over_another_connection(
    site: Site, way: str
) -> None:
    """B4, B5, B8: it has no loop that would bound it."""
    async with site.opened(timeout=BOUND) as backend:
        act = Renew()
        await act.arrange(site.sure)
        keeper = backend.control()
        act.check(await asyncio.to_thread(keeper.renew, act.session, Vitals()))
        spoil(site, way)

        if way == "half-open":
            await ends(asyncio.to_thread(keeper.renew, act.session, Vitals()))
        else:
            await fails(asyncio.to_thread(keeper.renew, act.session, Vitals()))
        site.proxy.heal()

        act.check(await insisted(lambda: asyncio.to_thread(keeper.renew, act.session, Vitals(running=7))))
        await act.final(site.sure)
        await asyncio.to_thread(keeper.close)


def spoil(site: Site, way: str) -> None:
    {
        "silent": site.proxy.silence,
        "half-open": site.proxy.forget,
        "slow": lambda: site.proxy.drip(BOUND * 0.9, "answers"),
    }[way]()


# ---- a server that is gone without a word


async def test_connections_whose_peer_has_vanished_are_given_up_and_replaced(site: Site) -> None:
    """B5."""
    async with site.opened(timeout=BOUND) as backend:
        acts = await arranged(site)
        await backend.push([])
        site.proxy.forget()
        before = site.proxy.accepted

        await asyncio.gather(*(ends(act.call(backend)) for act in acts))

        await go_on(site, backend, acts)
        assert site.proxy.accepted > before


@pytest.fixture
def pulse(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set how often a connection that only hears is asked whether it still stands."""

    def beat(seconds: float) -> None:
        monkeypatch.setattr("noria.backends.redis.ears.PING_EVERY", seconds)
        monkeypatch.setattr("noria.backends.postgres.wires.PULSE", seconds)

    return beat


async def test_whoever_listens_hears_again_after_its_peer_has_vanished(
    site: Site, pulse: Callable[[float], None]
) -> None:
    """B5: and is told that something may have been missed."""
    pulse(0.2)
    async with site.opened(timeout=2 * SLACK, poll=NEVER) as backend, backend.listen(["queue:q"]) as hints:
        await heard_at_last(site, hints, b"1")
        site.proxy.forget()

        heard = await heard_at_last(site, hints, b"2")

        assert any(hint.reset for hint in heard)


async def test_a_lease_that_hears_nothing_any_more_finds_work_by_itself(
    site: Site, pulse: Callable[[float], None]
) -> None:
    """B26: what only hears is dead, and nobody knows."""
    pulse(NEVER)
    async with site.opened(timeout=BOUND, poll=0.2) as backend:
        act = LeaseSome()
        act.session = await backend.open(card(act.name))
        want = [Want(act.name, len(act.jobs))]
        assert (await backend.lease(act.session, want, len(act.jobs), 0.3)).leases == []
        site.proxy.forget()
        # What speaks is replaced as soon as somebody speaks; what only hears stays dead.
        await insisted(lambda: backend.renew(act.session, Vitals()))
        waiting = asyncio.ensure_future(backend.lease(act.session, want, len(act.jobs), NEVER))
        await asyncio.sleep(0.1)

        await site.sure.push(act.jobs)

        async with asyncio.timeout(SLACK):
            act.check((await waiting).leases)


# ---- a server that is slow


async def test_a_slow_drip_does_not_stretch_the_bound_of_a_call(site: Site) -> None:
    """B8: the bound is that of the whole call, not of each byte."""
    async with site.opened(timeout=BOUND) as backend:
        acts = await arranged(site)
        await backend.push([])
        site.proxy.drip(BOUND * 0.9, "answers")

        await asyncio.gather(*(fails(act.call(backend)) for act in acts))

        site.proxy.heal()
        await go_on(site, backend, acts)


async def test_a_slow_drip_does_not_keep_a_backend_from_giving_up_its_start(site: Site) -> None:
    """B8."""
    site.proxy.drip(BOUND * 0.9, "answers")
    backend = site.make(timeout=BOUND)

    await fails(backend.start())

    await backend.aclose()


# ---- callers who leave


async def test_a_caller_who_leaves_at_any_step_disturbs_nobody(site: Site) -> None:
    """B7: at every turn of the loop that a call takes, and at moments between."""
    async with site.opened() as backend:
        get = Get()
        await get.arrange(site.sure)
        for kind, make in ACTS.items():
            for steps in range(12):
                act = make()
                await act.arrange(site.sure)
                leaving = asyncio.ensure_future(act.call(backend))
                staying = asyncio.ensure_future(get.call(backend))
                for _ in range(steps):
                    await asyncio.sleep(0.0005 * (steps % 3))
                leaving.cancel()

                get.check(await staying)
                act.check(await insisted(lambda act=act: act.again(backend)))  # type: ignore[misc]  # of this turn
                await act.final(site.sure)
                assert kind


async def test_each_of_many_callers_gets_its_own_answer_while_others_leave_and_connections_break(
    site: Site, rng: random.Random
) -> None:
    """B6, B7: answers come in pieces, late, and not at all."""
    async with site.opened() as backend:
        jobs = [Push().jobs[0] for _ in range(40)]
        await site.sure.push(jobs)
        site.proxy.chop(rng)
        told: list[bool] = []

        async def ask() -> None:
            some = rng.sample(jobs, rng.randint(1, 5))
            call = asyncio.ensure_future(backend.get([job.id for job in some], Parts.BODY))
            if rng.random() < 0.3:
                await asyncio.sleep(rng.uniform(0.0, 0.01))
                call.cancel()
            await asyncio.wait([call])
            if not call.cancelled() and call.exception() is None:
                told.append(is_answer(call.result(), some))
            elif not call.cancelled():
                assert isinstance(call.exception(), BackendError)

        for turn in range(ROUNDS):
            if turn % 3 == 0:
                site.proxy.cut_after(rng.choice(("requests", "answers")), rng.randint(0, 5_000))
            await asyncio.gather(*(ask() for _ in range(20)))

        assert all(told)
        assert len(told) > ROUNDS
        site.proxy.heal()
        await until(lambda: site.proxy.accepted > 1)


def is_answer(records: list[Any], jobs: list[NewJob]) -> bool:
    return [(record.id, record.body) for record in records] == [(job.id, job.body) for job in jobs]


# ---- what users are shown


async def test_the_test_that_the_page_on_testing_shows_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`docs/howto/testing.md`, where the server of the reader is not there."""
    if why := redis.missing():
        pytest.skip(why)
    address, name = redis.server("none"), redis.fresh_namespace()
    server = f"redis://{address.host}:{address.port}/{address.database}?namespace={name}"
    app = noria.Noria()

    @app.task
    async def charge(cents: int) -> int:
        return cents

    with noria.testing.Proxy.before(server) as proxy:
        monkeypatch.setenv("NORIA_URL", proxy.through(server))
        async with app:
            draft = charge.job(999)
            proxy.cut_after("answers", 0)
            with pytest.raises(noria.Unknown):
                await app.enqueue_many([draft])

            [charged] = await app.enqueue_many([draft])

            assert not charged.created
    redis.drop_namespace(name)
