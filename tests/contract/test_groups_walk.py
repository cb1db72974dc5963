"""Whatever producers, workers, persons and time do: no group gets more than its rule allows, and in the end all ran."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from noria.backends.contract import Change, Close, GroupRef, Open
from noria.ids import Id, SessionId
from noria.model.groups import Grouped, Need, Rate, Rule
from noria.model.job import Lease, NewJob
from noria.model.state import State
from tests.contract.conftest import needs
from tests.contract.store import Store
from tests.contract.words import new, record, swept
from tests.contract.workers import ENDS, end, fence, settle, take, worker

pytestmark = needs("groups")

RULES = {
    "one": Rule(limit=1),
    "three": Rule(limit=3, fair=False),
    "order": Rule(ordered=True),
    "aside": Rule(ordered=True, aside=1),
    "shared": Rule(weights={"a": 2}),
    "rated": Rule(limit=4, rate=Rate(4, 1.0, burst=2)),
}
NEEDS = ((), (), (Need("tunnel", capacity=2),), (Need("screen", capacity=1), Need("tunnel", capacity=2)))
CAPACITY = {"tunnel": 2, "screen": 1}
GROUPS = [GroupRef(family, key) for family in RULES for key in ("a", "b")]


class Walk:
    """Random steps from a seed."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.rng = random.Random(seed)
        self.ids: list[Id] = []
        self.sessions: list[SessionId] = []
        self.held: dict[Id, tuple[SessionId, Lease]] = {}

    async def step(self) -> None:
        """Do something."""
        steps = (self.push, self.push, self.take, self.take, self.settle, self.settle, self.settle)
        await self.rng.choice((*steps, self.die, self.alter, self.close, self.rest))()

    async def push(self) -> None:
        """Enqueue a few jobs, of groups or of none, some for later."""
        jobs = [self._job() for _ in range(self.rng.randint(1, 6))]
        self.ids += [receipt.id for receipt in await self.store.push(jobs) if receipt.status == "created"]

    def _job(self) -> NewJob:
        ref = self.rng.choice([*GROUPS, None])
        return new(
            self.store,
            group=None if ref is None else Grouped(ref, RULES[ref.family]),
            needs=self.rng.choice(NEEDS),
            delay=self.rng.choice((0.0, 0.0, 0.0, 2.0)),
            priority=self.rng.choice((0, 0, 1)),
            crash_budget=self.rng.choice((1, 9)),
        )

    async def take(self) -> None:
        """Lease some."""
        session = await self._session()
        for lease in await take(self.store, session, self.rng.choice((1, 3, 20))):
            assert lease.id not in self.held, "it runs already"
            self.held[lease.id] = session, lease

    async def settle(self) -> None:
        """End one start, in any way; some starts close their group."""
        if self.held:
            session, lease = self.held.pop(self.rng.choice(sorted(self.held)))
            after, outcome = self.rng.choice(ENDS)
            close = self.store.clock.wall() + 1.0 if self.rng.random() < 0.1 else 0.0
            await settle(self.store, session, lease, after, outcome=outcome, delay=1.0, close=close)

    async def die(self) -> None:
        """End a session with all that it holds."""
        if self.sessions:
            dead = self.sessions.pop(self.rng.randrange(len(self.sessions)))
            held = [lease for session, lease in self.held.values() if session == dead]
            await self.store.end(dead, started=[fence(each) for each in held if self.rng.random() < 0.5])
            self.held = {id: item for id, item in self.held.items() if item[0] != dead}

    async def alter(self) -> None:
        """Have a person change some jobs."""
        if self.ids:
            later = self.store.clock.wall() + 1.0
            edits = Change(kind="edit", run_at=later), Change(kind="edit", priority=2)
            changes = (Change(kind="cancel"), Change(kind="retry"), Change(kind="run"), *edits)
            await self.store.alter(self.rng.sample(self.ids, min(3, len(self.ids))), self.rng.choice(changes))

    async def close(self) -> None:
        """Close a group, or open it."""
        how = self.rng.choice((Open(), Close(until=self.store.clock.wall() + 2.0)))
        await self.store.steer(self.rng.choice(GROUPS), how)

    async def rest(self) -> None:
        """Let time pass."""
        await self.store.advance(self.rng.choice((0.1, 0.5, 2.0)))
        await swept(self.store)

    async def _session(self) -> SessionId:
        if len(self.sessions) < 3:
            self.sessions.append(await worker(self.store, ttl=1_000.0))
        return self.rng.choice(self.sessions)

    async def look(self) -> None:
        """What must hold at any time."""
        groups = Counter(lease.group for _, lease in self.held.values() if lease.group is not None)
        for ref, n in groups.items():
            most = RULES[ref.family].most
            assert most is None or n <= most, f"{n} jobs of {ref} run"
        for line in await self.store.resources():
            held = [id for id in self.held if line.need.name in (await record(self.store, id)).needs]
            assert line.used == len(held) <= CAPACITY[line.need.name], line
        for found in await self.store.group(GROUPS):
            if found is not None and found.rule.most is not None:
                assert len(found.holders) == found.taken <= found.rule.most, found

    async def end(self) -> None:
        """Run all that is left."""
        for ref in GROUPS:
            await self.store.steer(ref, Open())
        for _ in range(1_000):
            await self.store.advance(1.0)
            await swept(self.store)
            for _, (session, lease) in sorted(self.held.items()):
                await self.store.settle(session, [end(lease)])
            self.held.clear()
            await self.take()
            if not self.held and await self._through():
                return
        raise AssertionError("some jobs never ran")

    async def _through(self) -> bool:
        states = [(await record(self.store, id)).state for id in self.ids]
        return all(state.final or state is State.PARKED for state in states)


@pytest.mark.store(keep_succeeded=100_000.0)
@pytest.mark.parametrize("seed", range(4))
async def test_no_step_gives_away_a_place_twice_or_loses_one(store: Store, seed: int) -> None:
    walk = Walk(store, seed)
    for _ in range(150):
        await walk.step()
        await walk.look()

    await walk.end()
    await store.advance(100.0)
    await swept(store)

    assert {line.ref for line in await store.groups() if not line.taken} == set[GroupRef]()
    assert all(line.used == 0 for line in await store.resources())
