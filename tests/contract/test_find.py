"""Finding jobs: by what they are and how they ended, in words that a person writes, in pages and in numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from noria.backends.contract import DeadGroup, Kin, Parts, Query, Tallied, Term
from noria.errors import InvalidInput
from noria.ids import Id
from noria.model.fingerprint import fingerprint
from noria.model.job import Extras, Record
from noria.model.limits import MAX_LISTED
from noria.model.outcome import Failure
from noria.model.state import FINAL, LIVE, State
from tests.contract.store import Store
from tests.contract.test_alter import standing
from tests.contract.words import ALONE, enqueue, new, one, record
from tests.contract.workers import crash, running, settle, take, worker


async def found(store: Store, *terms: Term, limit: int = 50, **query: Any) -> list[Id]:
    """The ids of everything that a query finds, page by page, the newest first."""
    ids: list[Id] = []
    after = None
    while True:
        page = await store.find(Query(terms=terms, **query), after, limit, ids_only=True)
        assert (len(page.ids) <= limit, page.records) == (True, [])
        ids += page.ids
        if page.next is None:
            return ids
        after = page.next


def failure(kind: str = "ValueError", message: str = "it broke", place: str = "/app/mail.py:send") -> Failure:
    path, _, function = place.rpartition(":")
    trace = f'Traceback:\n  File "{path}", line 7, in {function}\n    fail()\n{kind}: {message}\n'
    return Failure.of("exception", message, type=kind, traceback=trace)


async def failed(store: Store, why: Failure | None = None, **fields: Any) -> Id:
    session, lease = await running(store, **fields)
    await settle(store, session, lease, State.FAILED, failure=why or failure())
    return lease.id


# -- fields


async def test_a_star_stands_for_any_end(store: Store) -> None:
    names = ["shop", "shop.a", "shop.b", "shop-x", "Shop.a"]
    ids = {name: await one(store, task=name, queue=name) for name in names}

    for field in ("tasks", "queues"):
        assert await found(store, **{field: ("shop.*",)}) == [ids["shop.b"], ids["shop.a"]]
        assert await found(store, **{field: ("shop",)}) == [ids["shop"]]
        assert await found(store, **{field: ("shop-*", "Shop.a")}) == [ids["Shop.a"], ids["shop-x"]]
    assert len(await found(store, tasks=("*",))) == len(names)


async def test_wild_characters_are_only_characters(store: Store) -> None:
    await one(store)

    for name in ("s?nd", "[s]end", "s*d", "send?"):
        assert await found(store, tasks=(name,)) == []
        assert await found(store, Term("task", name)) == []


async def test_jobs_are_found_by_their_worker(store: Store) -> None:
    ids = []
    for name in ("w-1", "w-2", "v"):
        id, session = await one(store), await worker(store, worker=name)
        (lease,) = await take(store, session)
        await settle(store, session, lease)
        ids.append(id)
    waits = await one(store)

    assert await found(store, workers=("w-1",)) == [ids[0]]
    assert await found(store, workers=("w-*",)) == [ids[1], ids[0]]
    assert await found(store, Term("worker", "w-", prefix=True, negated=True)) == [waits, ids[2]]


async def test_a_correlation_id_finds_its_jobs(store: Store) -> None:
    ids = [await one(store, extras=Extras(correlation_id=each)) for each in ("a", "b", "a", "ab")]
    await one(store)

    assert await found(store, correlation_id="a") == [ids[2], ids[0]]
    assert await found(store, correlation_id="a", oldest_first=True, limit=1) == [ids[0], ids[2]]
    assert await found(store, correlation_id="a", states=(State.RUNNING,)) == []
    assert await found(store, Term("correlation_id", "a", prefix=True)) == [ids[3], ids[2], ids[0]]


async def test_times_bound_what_is_found(store: Store) -> None:
    """Of a start and an end with an hour between them, so that ids of other clocks do not matter."""
    ids = []
    for _ in range(4):
        ids.append(await failed(store))
        await store.advance(7_200)
    at = store.clock.wall()

    for oldest_first in (False, True):
        turn = (lambda each: each) if oldest_first else (lambda each: each[::-1])
        for word in ("created", "finished"):
            after, before = {f"{word}_after": at - 4.5 * 3600}, {f"{word}_before": at - 4.5 * 3600}
            assert await found(store, **after, oldest_first=oldest_first) == turn(ids[2:])
            assert await found(store, **before, oldest_first=oldest_first) == turn(ids[:2])
            both = {f"{word}_after": at - 6.5 * 3600, f"{word}_before": at - 2.5 * 3600}
            assert await found(store, **both, oldest_first=oldest_first, limit=1) == turn(ids[1:3])


async def test_jobs_that_have_not_ended_match_no_time_of_their_end(store: Store) -> None:
    await one(store)

    assert await found(store, finished_after=0.0) == []
    assert await found(store, finished_before=1e11) == []


@pytest.mark.parametrize(
    "states", [(), *[(state,) for state in sorted(ALONE)], tuple(LIVE), tuple(FINAL)], ids=len
)
@pytest.mark.parametrize("oldest_first", [False, True])
async def test_pages_of_states_are_whole_and_in_order(
    local: Store, states: tuple[State, ...], oldest_first: bool
) -> None:
    ids: dict[Id, State] = {}
    for _ in range(3):
        for state in sorted(ALONE):
            ids[await standing(local, state, queue=state.word, task="rare")] = state

    wanted = sorted(
        (id for id, state in ids.items() if not states or state in states), reverse=not oldest_first
    )

    for limit in (1, 2, 50):
        assert await found(local, states=states, oldest_first=oldest_first, limit=limit) == wanted


async def test_oldest_first_is_the_other_way_round(store: Store) -> None:
    ids = await enqueue(store, 7)

    for limit in (1, 3, 7, 8):
        assert await found(store, limit=limit, oldest_first=True) == ids
        assert await found(store, limit=limit) == ids[::-1]


# -- terms


async def test_arguments_are_found_by_name_and_place(store: Store) -> None:
    bodies = [
        b'{"phone": "13800", "user": {"name": "ann", "ids": [7, 8]}, "vip": true}',
        b'{"phone": "13900", "user": {"name": "bob", "ids": [9]}, "vip": false, "note": null}',
        b'["13800", 5]',
        b'"13800"',
        b"{broken",
        b"\xff\xfe",
        b'{"phone": "13801", "pad": "' + b"x" * 5_000 + b'"}',
    ]
    ids = [await one(store, body=body) for body in bodies]

    def args(path: str, value: str, **how: Any) -> Term:
        return Term("args", value, path, **how)

    assert await found(store, args("phone", "13800")) == [ids[0]]
    assert await found(store, args("phone", "138", prefix=True)) == [ids[6], ids[0]]
    assert await found(store, args("phone", "138")) == []
    assert await found(store, args("user.name", "bob")) == [ids[1]]
    assert await found(store, args("user.ids.1", "8")) == [ids[0]]
    assert await found(store, args("0", "13800")) == [ids[2]]
    assert await found(store, args("vip", "true")) == [ids[0]]
    assert await found(store, args("vip", "false")) == [ids[1]]
    assert await found(store, args("note", "null")) == [ids[1]]
    assert await found(store, args("missing", "")) == []
    assert len(await found(store, args("phone", "13800", negated=True))) == len(ids) - 1


async def test_errors_are_found_by_what_they_say(store: Store) -> None:
    time_out = await failed(store, failure("TimeoutError", "no answer from db_1"))
    refused = await failed(store, failure("OSError", "Connection refused 100%"))
    await one(store)

    assert await found(store, Term("error", "timeout")) == [time_out]
    assert await found(store, Term("error", "REFUSED")) == [refused]
    assert await found(store, Term("error", "db_1")) == [time_out]
    assert await found(store, Term("error", "dbx1")) == []
    assert await found(store, Term("error", "0%")) == [refused]
    assert await found(store, Term("error", "%")) == [refused]


async def test_text_is_looked_for_everywhere(store: Store) -> None:
    task = await one(store, task="apple.pick")
    queue = await one(store, queue="apples")
    tag = await one(store, extras=Extras(tags=("green apple",)))
    call = await one(store, extras=Extras(correlation_id="Apple-1"))
    args = await one(store, body=b'{"fruit": "pineAPPLE"}')
    large = await one(store, body=b'{"pad": "' + b"x" * 5_000 + b'", "fruit": "apple"}')
    error = await failed(store, failure("AppleError"), queue="other")
    await one(store)

    everything = [error, large, args, call, tag, queue, task]
    assert await found(store, Term("text", "apple")) == everything
    assert await found(store, Term("text", "apple"), Term("task", "send")) == everything[:-1]
    assert await found(store, Term("text", 'x" OR 1=1 --')) == []


async def test_terms_can_be_turned_round(store: Store) -> None:
    a = await one(store, task="a", queue="x", extras=Extras(tags=("vip", "new")))
    b = await one(store, task="b", queue="y")

    assert await found(store, Term("task", "a", negated=True)) == [b]
    assert await found(store, Term("queue", "x", negated=True)) == [b]
    assert await found(store, Term("tag", "vip")) == [a]
    assert await found(store, Term("tag", "n", prefix=True)) == [a]
    assert await found(store, Term("tag", "vip", negated=True)) == [b]
    assert await found(store, Term("error", "x", negated=True)) == [b, a]
    assert await found(store, Term("tag", "vip"), Term("task", "a", negated=True)) == []


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Term("args", "1", 'a"b'),
        lambda: Term("args", "1", "a[0]"),
        lambda: Term("args", "1", "a..b"),
        lambda: Term("args", "1"),
        lambda: Term("task", "1", "a"),
        lambda: Term("text", "x" * 600),
        lambda: Term("text", "\ud800"),
        lambda: Term("text", "a\0"),
        lambda: Query(terms=(Term("text", "a"),) * 17),
        lambda: Query(tag="\ud800"),
        lambda: Query(tasks=("\0",)),
    ],
)
def test_a_term_that_makes_no_sense_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("text", ["'", '"', "\\", "%", "_", "*", "[", "]", "é", "😀", "--", "$.a"])
async def test_any_text_can_be_looked_for(store: Store, text: str) -> None:
    id = await one(store, extras=Extras(tags=(f"a{text}b",)))
    await one(store, extras=Extras(tags=("axb",)))

    assert await found(store, Term("tag", f"a{text}b")) == [id]
    assert await found(store, Term("tag", f"a{text}", prefix=True)) == [id]
    assert await found(store, tag=f"a{text}b") == [id]
    assert await found(store, Term("args", text, "x")) == []


# -- pages


async def test_a_page_reads_the_parts_that_are_asked_for(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease)

    (bare,) = (await store.find(Query())).records
    (whole,) = (await store.find(Query(), parts=Parts.BODY | Parts.RESULT)).records

    assert (bare.body, bare.result) == (None, None)
    assert (whole.body, whole.result) == (b'["a"]', b'"value"')
    assert (await store.find(Query())).ids == [lease.id]


@pytest.mark.parametrize(("size", "there"), [(MAX_LISTED, True), (MAX_LISTED + 1, False)])
async def test_a_page_leaves_out_what_is_large(store: Store, size: int, there: bool) -> None:
    value = b'"' + b"x" * (size - 2) + b'"'
    session, lease = await running(store, body=value)
    await settle(store, session, lease, result=value)

    (listed,) = (await store.find(Query(), parts=Parts.ALL)).records
    (alone,) = await store.get([lease.id], Parts.ALL)

    assert (listed.body, listed.result) == ((value, value) if there else (None, None))
    assert alone is not None
    assert (alone.body, alone.result) == (value, value)


async def test_a_search_is_given_up_and_goes_on_from_there(local: Store) -> None:
    for start in range(0, 105_000, 3_000):
        await enqueue(local, 3_000, body=b"[%d]" % start)

    first = await local.find(Query(terms=(Term("args", "0", "0"),)), None, 10)
    second = await local.find(Query(terms=(Term("args", "0", "0"),)), first.next, 10)

    assert (first.records, first.scan_limited) == ([], True)
    assert (len(second.records), second.scan_limited) == (10, False)
    assert (await local.tally(Query(terms=(Term("args", "0", "0"),)))).scan_limited


# -- numbers


async def test_matches_are_counted_by_task_and_state(store: Store) -> None:
    await enqueue(store, 3, task="a")
    await enqueue(store, 2, task="b", delay=60)
    await enqueue(store, 1, task="a", queue="other")

    assert await store.tally(Query(queues=("mail",))) == Tallied(
        5, kin=[Kin("a", State.QUEUED, 3), Kin("b", State.SCHEDULED, 2)]
    )
    assert await store.tally(Query(tasks=("c",))) == Tallied(0)


@pytest.mark.parametrize(("most", "n", "capped"), [(3, 3, True), (4, 4, False), (5, 4, False)])
async def test_a_count_is_capped(store: Store, most: int, n: int, capped: bool) -> None:
    await enqueue(store, 4)

    told = await store.tally(Query(), most)

    assert (told.n, told.capped, sum(kin.n for kin in told.kin)) == (n, capped, n)


# -- fingerprints


async def test_dead_letters_are_grouped_by_what_failed_where(store: Store) -> None:
    first = await failed(store, failure(message="no 1"))
    await store.advance(10)
    last = await failed(store, failure(message="no 2"))
    other = await failed(store, failure(place="/app/mail.py:deliver"))
    retried = await failed(store, failure())
    from noria.backends.contract import Change

    await store.alter([retried], Change(kind="retry"))
    await store.restart()

    groups = await store.dead_groups()

    by_mark = {group.fingerprint: group for group in groups}
    mark = fingerprint("send", failure())
    times = [(await record(store, id)).finished for id in (first, last)]
    assert [group.n for group in groups] == [2, 1]
    assert by_mark[mark] == DeadGroup(mark, 2, times[0], times[1], await record(store, last))
    assert groups[1].sample.id == other
    assert await found(store, fingerprint=mark, dead=True) == [last, first]
    assert await found(store, Term("fingerprint", mark)) == [last, first]


async def test_every_way_to_fail_has_a_fingerprint(store: Store) -> None:
    await crash(store, await one(store, crash_budget=1), 1)
    await failed(store, Failure.of("timeout", "it took 3 s"))

    groups = await store.dead_groups()

    for group in groups:
        assert group.sample.failure is not None
        assert group.fingerprint == fingerprint("send", group.sample.failure)
    assert len(groups) == 2


async def test_groups_are_as_many_as_are_asked_for(store: Store) -> None:
    for n in range(4):
        for _ in range(n + 1):
            await failed(store, failure(f"Error{n}"))

    assert [group.n for group in await store.dead_groups(2)] == [4, 3]
    assert [group.n for group in await store.dead_groups()] == [4, 3, 2, 1]


async def test_a_job_that_is_well_again_is_not_found_by_its_old_failure(store: Store) -> None:
    session, lease = await running(store)
    await settle(store, session, lease, State.RETRYING, failure=failure())
    mark = fingerprint("send", failure())
    before = await found(store, fingerprint=mark)
    (again,) = await take(store, session)
    await settle(store, session, again)

    assert (before, await found(store, fingerprint=mark)) == ([lease.id], [])


# -- all of it


def matches(each: Record, query: Query) -> bool:
    """What a query says, in another language."""
    return all(
        (
            not query.states or each.state in query.states,
            not query.tasks or each.task in query.tasks,
            not query.queues or each.queue in query.queues,
            not query.tag or query.tag in each.extras.tags,
            not query.correlation_id or each.extras.correlation_id == query.correlation_id,
            not query.dead or each.dead,
        )
    )


async def test_any_fields_together_find_what_all_of_them_say(local: Store) -> None:
    rng = random.Random(7)
    for state in sorted(ALONE):
        for _ in range(4):
            extras = Extras(tags=(rng.choice("ab"),), correlation_id=rng.choice(["", "c", "d"]))
            await standing(local, state, task=rng.choice("xy"), queue=state.word, extras=extras)
    records = (await local.find(Query(), None, 1_000)).records

    for _ in range(300):
        query = Query(
            states=tuple(rng.sample(list(State), rng.randint(0, 4))),
            tasks=rng.choice([(), ("x",), ("x", "y")]),
            queues=rng.choice([(), ("queued", "failed", "succeeded")]),
            tag=rng.choice(["", "a"]),
            correlation_id=rng.choice(["", "", "c"]),
            dead=rng.random() < 0.2,
        )
        wanted = [each.id for each in records if matches(each, query)]
        assert (await local.find(query, None, 1_000)).ids == wanted
        assert (await local.tally(query)).n == len(wanted)


async def test_new_jobs_have_no_failure_to_be_found_by(store: Store) -> None:
    await store.push([new(store)])

    assert await found(store, Term("error", "")) == await found(store)
