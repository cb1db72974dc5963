"""What a person does to jobs that wait, or have ended: run, edit, move, erase, and retries with a choice."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from noria.backends.contract import Altered, Change, Parts, Query, Verdict
from noria.errors import InvalidInput, InvalidOption, TooLarge
from noria.ids import Id
from noria.model.job import Extras
from noria.model.state import EDITABLE, FINAL, State
from tests.contract.store import Store
from tests.contract.test_alter import alter, by_word, standing
from tests.contract.words import ALONE, enqueue, new, one, record, state, swept
from tests.contract.workers import crash, end, running, settle, take, worker

RUN = Change(kind="run")
ERASE = Change(kind="erase")
waiting = pytest.mark.parametrize("waits", sorted(EDITABLE & ALONE), ids=lambda state: state.word)
not_waiting = pytest.mark.parametrize("other", sorted(ALONE - EDITABLE), ids=lambda state: state.word)
LARGE = b'"' + b"x" * 5_000 + b'"'


def edit(**fields: Any) -> Change:
    return Change(kind="edit", **fields)


def move(queue: str) -> Change:
    return Change(kind="move", queue=queue)


def retry(**fields: Any) -> Change:
    return Change(kind="retry", **fields)


async def leased(store: Store, queue: str = "mail") -> list[Id]:
    return [lease.id for lease in await take(store, await worker(store), queue=queue)]


# -- run


@pytest.mark.parametrize("waits", [State.SCHEDULED, State.RETRYING], ids=lambda state: state.word)
async def test_a_job_that_waits_for_its_time_runs_now(store: Store, waits: State) -> None:
    id = await standing(store, waits)

    told = await alter(store, id, RUN)
    await store.restart()

    assert told == Altered("done", State.QUEUED)
    assert (await record(store, id)).due == pytest.approx(store.clock.wall(), abs=0.01)
    assert await leased(store) == [id]


async def test_a_job_that_runs_already_is_as_was_asked(store: Store) -> None:
    for already in (State.QUEUED, State.RUNNING):
        id = await standing(store, already, queue=already.word)

        assert await alter(store, id, RUN) == Altered("done", already)


@pytest.mark.parametrize("other", [State.PARKED, *sorted(FINAL)], ids=lambda state: state.word)
async def test_only_a_job_that_waits_for_its_time_can_be_told_to_run(store: Store, other: State) -> None:
    id = await standing(store, other)

    assert await alter(store, id, RUN) == Altered("refused", other)


async def test_a_repeated_run_gives_the_same_answer(store: Store) -> None:
    id = await one(store, delay=60)

    assert [await alter(store, id, RUN) for _ in range(2)] == [Altered("done", State.QUEUED)] * 2


# -- edit


@waiting
async def test_the_priority_of_a_job_that_waits_can_be_changed(store: Store, waits: State) -> None:
    id = await standing(store, waits)

    told = await alter(store, id, edit(priority=3))
    await store.restart()

    assert told == Altered("done", waits)
    assert (await record(store, id)).priority == 3


async def test_a_more_urgent_job_runs_first(store: Store) -> None:
    _first, second = await enqueue(store, 2)

    await alter(store, second, edit(priority=1))

    assert [lease.id for lease in await take(store, await worker(store), 1)] == [second]


async def test_a_later_time_makes_a_queued_job_wait(store: Store) -> None:
    id = await one(store)

    told = await alter(store, id, edit(run_at=store.clock.wall() + 30))

    assert told == Altered("done", State.SCHEDULED)
    assert await leased(store) == []
    await store.advance(31)
    assert await leased(store) == [id]


@pytest.mark.parametrize("waits", [State.SCHEDULED, State.RETRYING], ids=lambda state: state.word)
async def test_another_time_is_kept(store: Store, waits: State) -> None:
    id = await standing(store, waits)

    told = await alter(store, id, edit(run_at=store.clock.wall() + 5))

    assert told == Altered("done", waits)
    await store.advance(6)
    assert await leased(store) == [id]


@pytest.mark.parametrize("waits", [State.SCHEDULED, State.RETRYING], ids=lambda state: state.word)
async def test_a_time_that_has_come_queues_the_job(store: Store, waits: State) -> None:
    id = await standing(store, waits)

    assert await alter(store, id, edit(run_at=store.clock.wall() - 1)) == Altered("done", State.QUEUED)
    assert await leased(store) == [id]


async def test_a_parked_job_has_no_time(store: Store) -> None:
    id = await standing(store, State.PARKED)

    assert await alter(store, id, edit(run_at=0.0)) == Altered("refused", State.PARKED)


async def test_the_time_by_which_it_must_start_can_be_set_and_lifted(store: Store) -> None:
    sooner, never = await enqueue(store, 2, expires=store.clock.wall() + 20)

    await alter(store, sooner, edit(expires=store.clock.wall() + 5))
    await alter(store, never, edit(expires=None))
    await store.advance(6)
    await swept(store)
    states = [await state(store, sooner), await state(store, never)]
    await store.advance(60)
    await swept(store)

    assert states == [State.EXPIRED, State.QUEUED]
    assert await state(store, never) is State.QUEUED


async def test_a_deadline_outlives_a_bound_that_is_lifted(store: Store) -> None:
    id = await one(store, expires=store.clock.wall() + 5, deadline=store.clock.wall() + 10)

    await alter(store, id, edit(expires=None))
    await store.advance(11)
    await swept(store)

    assert await state(store, id) is State.EXPIRED


async def test_a_job_that_has_begun_has_no_time_by_which_to_start(store: Store) -> None:
    id = await standing(store, State.RETRYING)

    assert await alter(store, id, edit(expires=None)) == Altered("refused", State.RETRYING)


async def test_tags_are_replaced_and_all_else_stays(store: Store) -> None:
    extras = Extras(timeout=3.0, tags=("a", "b"), correlation_id="c-1")
    id = await one(store, extras=extras)

    await alter(store, id, edit(tags=("c",)))

    (lease,) = await take(store, await worker(store))
    assert (await record(store, id)).extras == structs.replace(extras, tags=("c",)) == lease.extras


@pytest.mark.parametrize("before", [b'["a"]', LARGE], ids=["small", "large"])
@pytest.mark.parametrize("after", [b'["b"]', b"\xff\0", LARGE[:-1] + b'y"'], ids=["small", "bytes", "large"])
async def test_arguments_can_be_changed_before_the_first_start(
    store: Store, before: bytes, after: bytes
) -> None:
    id, other = await enqueue(store, 2, body=before)

    await alter(store, id, edit(body=after, codec="json"))
    await store.restart()

    assert (await record(store, id, Parts.BODY)).body == after
    assert (await record(store, other, Parts.BODY)).body == before
    bodies = {lease.id: lease.body for lease in await take(store, await worker(store))}
    assert bodies == {id: after, other: before}


@pytest.mark.parametrize("waits", [State.RETRYING, State.PARKED], ids=lambda state: state.word)
async def test_arguments_stay_after_the_first_start(store: Store, waits: State) -> None:
    id = await standing(store, waits)

    assert await alter(store, id, edit(body=b"[]")) == Altered("refused", waits)


@not_waiting
async def test_only_a_job_that_waits_can_be_edited_or_moved(store: Store, other: State) -> None:
    id = await standing(store, other)

    for change in (edit(priority=1), edit(tags=()), move("other")):
        assert await alter(store, id, change) == Altered("refused", other)


async def test_a_repeated_edit_gives_the_same_answer(store: Store) -> None:
    id = await one(store)
    change = edit(priority=2, run_at=store.clock.wall() + 30, tags=("a",))
    first = await alter(store, id, change)
    await store.restart()

    assert await alter(store, id, change) == first


async def test_a_body_that_is_too_large_changes_nothing(store: Store) -> None:
    id = await one(store)
    most = (await store.capabilities()).max_body

    with pytest.raises(TooLarge):
        await alter(store, id, edit(body=b"x" * (most + 1), priority=3))
    assert (await record(store, id)).priority == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "edit", "priority": 10_000},
        {"kind": "edit", "run_at": float("nan")},
        {"kind": "edit", "run_at": 1e300},
        {"kind": "edit", "expires": float("inf")},
        {"kind": "edit", "tags": ("x" * 65,)},
        {"kind": "edit", "tags": ("x",) * 17},
        {"kind": "edit", "body": b"", "codec": "é"},
        {"kind": "retry", "attempts": 0},
        {"kind": "retry", "delay": -1.0},
        {"kind": "retry", "priority": 1},
        {"kind": "cancel", "body": b""},
        {"kind": "move"},
        {"kind": "move", "queue": "a b"},
        {"kind": "edit", "queue": "a"},
    ],
    ids=str,
)
def test_a_change_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises((InvalidOption, InvalidInput)):
        Change(**fields)


# -- move


@waiting
async def test_a_job_that_waits_is_moved(store: Store, waits: State) -> None:
    id = await standing(store, waits)

    told = await alter(store, id, move("other"))
    await store.restart()

    counts = {name: each.states for name, each in (await store.counts()).queues.items() if each.states}
    assert told == Altered("done", waits)
    assert (await record(store, id)).queue == "other"
    assert counts == {"other": {waits: 1}}


async def test_a_moved_job_is_leased_from_its_new_queue(store: Store) -> None:
    id = await one(store)
    await alter(store, id, move("other"))

    assert await leased(store) == []
    assert await leased(store, "other") == [id]


async def test_a_repeated_move_gives_the_same_answer(store: Store) -> None:
    id = await one(store)
    first = await alter(store, id, move("other"))
    version = (await record(store, id)).version

    assert await alter(store, id, move("other")) == first
    assert (await record(store, id)).version == version


# -- retry, with a choice


@pytest.mark.parametrize("final", sorted(FINAL - {State.SUCCEEDED}), ids=lambda state: state.word)
async def test_a_retry_may_be_put_off(store: Store, final: State) -> None:
    id = await standing(store, final)

    told = await alter(store, id, retry(delay=30))

    assert told == Altered("done", State.SCHEDULED)
    assert await leased(store) == []
    await store.advance(31)
    assert await leased(store) == [id]


async def test_a_retry_that_was_put_off_gives_the_same_answer_until_it_runs(store: Store) -> None:
    id = await standing(store, State.FAILED)
    told = [await alter(store, id, retry(delay=30)) for _ in range(2)]
    await store.advance(31)
    await swept(store)

    assert told == [Altered("done", State.SCHEDULED)] * 2
    assert await alter(store, id, retry(delay=30)) == Altered("done", State.QUEUED)


async def test_a_retry_may_give_a_number_of_attempts(store: Store) -> None:
    id = await standing(store, State.FAILED, attempts=5)
    await alter(store, id, retry(attempts=2))

    tally = (await record(store, id)).tally
    assert (tally.spent, tally.attempts) == (0, 2)


@pytest.mark.parametrize("body", [b'["new"]', LARGE], ids=["small", "large"])
async def test_a_dead_letter_may_get_new_arguments(store: Store, body: bytes) -> None:
    id = await standing(store, State.FAILED)

    await alter(store, id, retry(body=body))
    await store.restart()

    (lease,) = await take(store, await worker(store))
    assert lease.body == body
    assert (await record(store, id, Parts.BODY)).body == body


@pytest.mark.parametrize(
    "other",
    [retry(body=b'["newer"]'), retry(), retry(delay=30, body=b'["new"]'), retry(attempts=2, body=b'["new"]')],
    ids=["other arguments", "none", "other delay", "other attempts"],
)
async def test_another_retry_of_a_job_that_waits_is_refused_and_not_said_to_be_done(
    store: Store, other: Change
) -> None:
    id = await standing(store, State.FAILED)
    first = await alter(store, id, retry(body=b'["new"]'))

    told = [await alter(store, id, other), await alter(store, id, retry(body=b'["new"]'))]

    assert told == [Altered("refused", State.QUEUED), first]
    assert (await record(store, id, Parts.BODY)).body == b'["new"]'


async def test_one_body_serves_many_retries(store: Store) -> None:
    ids = [await standing(store, State.FAILED) for _ in range(3)]

    await store.alter(ids, retry(body=LARGE))

    assert [lease.body for lease in await take(store, await worker(store))] == [LARGE] * 3


# -- erase


@by_word
async def test_what_is_kept_of_an_ended_job_can_be_erased(store: Store, final: State) -> None:
    id = await standing(store, final, body=LARGE, unique="k")

    told = await alter(store, id, ERASE)
    await store.restart()

    counts = await store.counts()
    assert told == Altered("done", None)
    assert await store.get([id], Parts.ALL) == [None]
    assert counts.queues == {}
    assert counts.erased == 1


@pytest.mark.parametrize("live", sorted(ALONE - FINAL), ids=lambda state: state.word)
async def test_a_live_job_cannot_be_erased(store: Store, live: State) -> None:
    id = await standing(store, live)

    assert await alter(store, id, ERASE) == Altered("refused", live)
    assert await state(store, id) is live


async def test_a_repeated_erase_gives_the_same_answer(store: Store) -> None:
    id = await standing(store, State.FAILED)

    assert [await alter(store, id, ERASE) for _ in range(2)] == [Altered("done", None)] * 2
    assert (await store.counts()).erased == 1


async def test_repeats_of_an_erased_job_are_recognised(store: Store) -> None:
    job = new(store)
    await store.push([job])
    session = await worker(store)
    (lease,) = await take(store, session)
    await settle(store, session, lease)
    await alter(store, job.id, ERASE)

    (receipt,) = await store.push([job])

    assert (receipt.status, receipt.why) == ("existing", "id")
    assert await store.settle(session, [end(lease)]) == [Verdict.ALREADY]


async def test_a_trace_is_dropped_in_time(store: Store) -> None:
    id = await standing(store, State.SUCCEEDED)
    await alter(store, id, ERASE)
    await store.advance(1_000)
    await swept(store)

    assert await alter(store, id, ERASE) == Altered("missing")
    assert (await store.counts()).erased == 1


async def test_an_erased_job_is_no_dead_letter(store: Store) -> None:
    id = await one(store, crash_budget=1)
    await crash(store, id, 1)

    await alter(store, id, ERASE)

    assert (await store.counts()).queues == {}
    assert (await store.find(Query(dead=True))).records == []


async def test_nobody_cancels_or_retries_what_was_erased(store: Store) -> None:
    id = await standing(store, State.FAILED)
    await alter(store, id, ERASE)

    for kind in ("cancel", "retry", "discard", "run"):
        assert await alter(store, id, Change(kind=kind)) == Altered("missing")


async def test_the_same_job_twice_in_a_call_is_changed_once(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.FAILED)
    waits = await one(store)

    assert await store.alter([lease.id, lease.id], ERASE) == [Altered("done", None)] * 2
    assert await store.alter([waits, waits], move("other")) == [Altered("done", State.QUEUED)] * 2
    counts = await store.counts()
    assert {name: each.states for name, each in counts.queues.items() if each.states} == {
        "other": {State.QUEUED: 1}
    }
    assert counts.erased == 1
