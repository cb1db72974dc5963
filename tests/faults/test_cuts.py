"""Connections that are cut at any byte, of a request or of an answer: rows B6 and B9 of the faults we know.

Whoever called hears that the call was not done, or that nobody knows; never a wrong answer, and never one of somebody
else. Asked again, everything was done once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from noria.backends.contract import Backend
from noria.errors import Unavailable, Unknown
from noria.testing.pipes import WAYS, Way
from tests.conftest import STORM
from tests.faults.acts import ACTS, Act, Push
from tests.faults.sites import Site, heard_at_last, insisted, site_on, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.storm,
    pytest.mark.timeout(3_600 if STORM else 180),
]

MOST = 400 if STORM else 24
"""How many places a call is cut at; all of them, if it has no more."""
SOME = 3
TURNS = 300 if STORM else 8


@pytest.fixture(params=["redis", "postgres"])
async def site(request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    async with site_on(request.param) as site:
        yield site


@pytest.mark.parametrize("way", ["requests", "answers"])
@pytest.mark.parametrize("kind", ACTS)
async def test_a_call_that_is_cut_off_at_any_byte_is_told_truly_and_done_once(
    site: Site, kind: str, way: Way, rng: random.Random
) -> None:
    async with site.opened() as backend:
        length = await measured(site, backend, kind, way)

        chosen = places(length, rng)
        for place in chosen:
            await cut_at(place, site, backend, ACTS[kind](), way)

        assert site.proxy.cuts >= len(chosen) * 0.8


async def measured(site: Site, backend: Backend, kind: str, way: Way) -> int:
    """How many bytes such a call takes, on a connection that has seen one before; others may send some beside it."""
    lengths = []
    for _ in range(4):
        act: Act = ACTS[kind]()
        await act.arrange(site.sure)
        before = site.proxy.passed[way]
        act.check(await act.call(backend))
        lengths.append(site.proxy.passed[way] - before)
        await act.final(site.sure)
    return min(lengths[1:])


def places(length: int, rng: random.Random) -> list[int]:
    """After how many bytes to cut: everywhere, or at both ends and somewhere between."""
    if length < MOST:
        return list(range(length + 1))
    edges = {0, 1, 2, length - 2, length - 1, length}
    return sorted(edges | set(rng.sample(range(length), MOST - len(edges))))


async def cut_at(place: int, site: Site, backend: Backend, act: Act, way: Way) -> None:
    await act.arrange(site.sure)
    accepted, cuts = site.proxy.accepted, site.proxy.cuts
    site.proxy.cut_after(way, place)
    try:
        answer = await act.call(backend)
    except Unavailable:
        assert not await act.done(site.sure), f"cut after {place} bytes it said that nothing was done"
    except Unknown:
        pass
    else:
        act.check(answer)
    site.proxy.heal()

    answer = await insisted(lambda: act.again(backend))

    act.check(answer)
    await act.final(site.sure)
    if site.proxy.cuts > cuts:
        await until(lambda: site.proxy.accepted > accepted)


async def test_a_push_whose_answer_is_lost_is_unknown_and_is_one_job(site: Site) -> None:
    """B9."""
    async with site.opened() as backend:
        length = await measured(site, backend, "push", "answers")
        unheard = 0
        for place in range(length - 1, -1, -1):
            act = Push()
            site.proxy.cut_after("answers", place)
            try:
                await act.call(backend)
            except (Unknown, Unavailable) as told:
                if await act.done(site.sure):
                    unheard += 1
                    assert isinstance(told, Unknown)
                    assert "may be done; repeat" in str(told)
            site.proxy.heal()

            again = await insisted(lambda act=act: act.call(backend))  # type: ignore[misc]  # it is this turn's

            assert {receipt.status for receipt in again} <= {"created", "existing"}
            await act.final(site.sure)
            if unheard == SOME:
                return
        raise AssertionError("no answer was lost")


async def test_whoever_listens_hears_again_wherever_its_connection_was_cut(
    site: Site, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B6: at once, and nothing that nobody has sent."""
    monkeypatch.setattr("noria.backends.redis.ears.PING_EVERY", 3_600.0)
    monkeypatch.setattr("noria.backends.postgres.wires.PULSE", 3_600.0)
    async with site.opened() as backend, backend.listen(["queue:q"]) as hints:
        for turn in range(TURNS):
            cuts, sent = site.proxy.cuts, b"%d" % turn
            for way in WAYS:
                # Once while it hears, and once more while it asks to hear again.
                site.proxy.cut_after(way, rng.randint(0, 60))
            async with asyncio.timeout(60):
                while site.proxy.cuts < cuts + len(WAYS):
                    await site.sure.notify("queue:q", b"early")
                    await asyncio.sleep(0.02)

            heard = await heard_at_last(site, hints, sent)

            told = {(hint.channel, hint.payload) for hint in heard if not hint.reset}
            assert told <= {("queue:q", each) for each in (b"early", b"%d" % (turn - 1), sent)}
