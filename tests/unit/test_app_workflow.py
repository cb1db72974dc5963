"""Workflows as applications write them: `after`, `chain` and `gather`."""

from __future__ import annotations

from typing import Any

import pytest

import noria.testing
from noria import (
    Context,
    Draft,
    InvalidInput,
    InvalidOption,
    JobCancelled,
    Noria,
    Unique,
    Workflow,
    chain,
    gather,
)  # fmt: skip
from noria.model.limits import MAX_AFTER


class Shop:
    """An application with tasks to put together."""

    def __init__(self, executor: Any = "async") -> None:
        self.app = Noria("sqlite:///never-opened.db")
        self.ran: list[Any] = []

        @self.app.task
        async def get(n: int) -> int:
            self.ran.append(n)
            return n

        @self.app.task(attempts=1)
        async def fail(why: str = "broken") -> int:
            raise ValueError(why)

        @self.app.task
        async def double(n: int, extra: int = 0) -> int:
            return 2 * n + extra

        @self.app.task
        async def total(numbers: list[int | None]) -> int:
            return sum(each or 0 for each in numbers)

        @self.app.task
        async def note(what: str) -> str:
            self.ran.append(what)
            return what

        if executor == "async":

            @self.app.task
            async def lines(numbers: list[int]) -> str:
                return ",".join(map(str, numbers))

            self.lines = lines
        else:

            @self.app.task(name="lines", executor=executor)
            def blocking(numbers: list[int]) -> str:
                return ",".join(map(str, numbers))

            self.lines = blocking
        self.get, self.fail, self.double, self.total, self.note = get, fail, double, total, note


@pytest.fixture
def shop() -> Shop:
    return Shop()


async def test_a_job_runs_after_another(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        first = await shop.get.options(delay=60).enqueue(1)
        second = await shop.note.options(after=first).enqueue("behind")
        status = await second.status()
        told = await second.explain()
        await t.advance(120)

    assert (status.state, status.after, status.awaits) == ("waiting", (first.id,), (first.id,))
    assert told == f"waiting for job {first.id} to succeed"
    assert shop.ran == [1, "behind"]


async def test_after_takes_jobs_drafts_and_ids(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        job = await shop.get.options(delay=60).enqueue(1)
        draft = shop.get.options(delay=60).job(2)
        last = shop.note.options(after=[job, draft, job.id]).job("behind")
        _, behind = await shop.app.enqueue_many([draft, last])
        status = await behind.status()
        told = await behind.explain()
        await t.advance(120)

    assert set(status.awaits) == {job.id, draft.id}
    assert told.startswith("waiting for jobs ")
    assert shop.ran == [1, 2, "behind"]


async def test_a_job_whose_parent_fails_is_cancelled_and_says_so(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        first = await shop.fail.enqueue()
        second = await shop.note.options(after=first).enqueue("never")
        await t.drain()
        with pytest.raises(JobCancelled, match="ended as failed"):
            await second
        error = (await second.status()).error

    assert error is not None
    assert error.reason == "parent"
    assert first.id in error.message


@pytest.mark.parametrize(("on", "state"), [("complete", "succeeded"), ("failure", "succeeded")])
async def test_on_says_how_they_must_end(shop: Shop, on: Any, state: str) -> None:
    async with noria.testing.run(shop.app) as t:
        first = await shop.fail.enqueue()
        second = await shop.note.options(after=[first], on=on).enqueue("clean up")
        await t.drain()
        assert (await second.status()).state == state


async def test_a_job_that_is_not_there_cannot_be_waited_for(shop: Shop) -> None:
    async with noria.testing.run(shop.app):
        missing = shop.get.job(1)
        with pytest.raises(InvalidInput, match="is not there"):
            await shop.note.options(after=missing).enqueue("never")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"after": "no id"}, "after"),
        ({"after": 7}, "after"),
        ({"after": ["00000000-0000-7000-8000-000000000000"] * (MAX_AFTER + 1)}, "after"),
        ({"on": "complete"}, "on"),
        ({"after": "019e7a5c-24f3-77d5-802a-6309c183da88", "on": "never"}, "on"),
    ],
)
def test_what_cannot_be_waited_for_is_refused_at_once(shop: Shop, options: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        shop.note.options(**options)

    assert caught.value.field == field


async def test_a_chain_hands_values_on(shop: Shop) -> None:
    async with noria.testing.run(shop.app):
        job = await chain(shop.get.job(3), shop.double, shop.double).enqueue()
        assert await job == 12


async def test_a_step_with_its_own_arguments_gets_no_value(shop: Shop) -> None:
    async with noria.testing.run(shop.app):
        job = await chain(shop.get.job(3), shop.note.job("told")).enqueue()
        assert await job == "told"


async def test_a_chain_ends_where_a_step_fails(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        flow = chain(shop.get.job(1), shop.fail.job(), shop.double, shop.double)
        await flow.enqueue()
        await t.drain()
        states = [(await shop.app.job(draft.id).status()).state for draft in flow.drafts]

    assert states == ["succeeded", "failed", "cancelled", "cancelled"]


@pytest.mark.parametrize("executor", ["async", "thread", "process"])
async def test_a_callback_gets_the_values_in_order(executor: str) -> None:
    shop = Shop(executor)
    async with noria.testing.run(shop.app):
        slow = [shop.get.options(delay=60 - n).job(n) for n in range(12)]
        job = await gather(slow, then=shop.lines).enqueue()
        assert await job == "0,1,2,3,4,5,6,7,8,9,10,11"


async def test_on_complete_a_value_that_there_is_none_of_is_none(shop: Shop) -> None:
    async with noria.testing.run(shop.app):
        flow = gather([shop.get.job(1), shop.fail.job(), shop.get.job(3)], then=shop.total, on="complete")
        assert await (await flow.enqueue()) == 4


async def test_workflows_are_put_together(shop: Shop) -> None:
    async with noria.testing.run(shop.app):
        left = chain(shop.get.job(1), shop.double)
        both = gather([left, chain(shop.get.job(2), shop.double)], then=shop.total)
        job = await chain(both, shop.double).enqueue()
        assert await job == 12


async def test_enqueueing_a_workflow_again_is_the_same(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        flow = gather([shop.get.job(1), shop.get.job(2)], then=shop.total)
        first = await flow.enqueue()
        again = await flow.enqueue()
        assert (await first, first.id, again.created) == (3, again.id, False)
        await t.drain()

    assert sorted(shop.ran) == [1, 2]


async def test_deadlines_flow_down_a_chain(shop: Shop) -> None:
    flow = chain(shop.get.options(deadline=60).job(1), shop.double, shop.double.options(deadline=30))

    first, second, third = [draft.new.deadline for draft in flow.drafts]

    assert first == second and third is not None and first is not None and third < first


async def test_a_follow_up_may_be_the_callback_of_others(shop: Shop) -> None:
    @shop.app.task
    async def fan_out(ctx: Context, n: int) -> str:
        parts = [ctx.enqueue(shop.get, each) for each in range(n)]
        return ctx.enqueue(shop.note.options(after=parts), "all done").id

    async with noria.testing.run(shop.app):
        last = await (await fan_out.enqueue(3))
        assert await shop.app.job(last) == "all done"

    assert shop.ran[-1] == "all done"
    assert sorted(shop.ran[:-1]) == [0, 1, 2]


async def test_a_value_that_is_gone_fails_the_callback_with_a_reason(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        first = await shop.get.enqueue(1)
        await t.drain()
        flow = gather([shop.get.job(1)], then=shop.total)
        await first
        gone = shop.get.options(keep=1).job(2)
        late = gather([gone, shop.get.options(delay=3600).job(3)], then=shop.total)
        job = await late.enqueue()
        await t.advance(7200)
        status = await job.status()
        assert await (await flow.enqueue()) == 1

    assert status.error is not None
    assert (status.state, status.error.reason) == ("failed", "arguments")
    assert "no longer kept" in status.error.message


def test_a_task_that_needs_more_is_no_step(shop: Shop) -> None:
    @shop.app.task
    async def needy(n: int, other: int) -> None: ...

    @shop.app.task
    async def bare() -> None: ...

    for task, why in ((needy, "'other' has no default"), (bare, "takes no argument")):
        with pytest.raises(InvalidOption, match=why):
            chain(shop.get.job(1), task)


@pytest.mark.parametrize("together", ["chain", "gather"])
@pytest.mark.parametrize("key", ["n", lambda n=1, extra=0: extra], ids=["path", "function"])
def test_a_group_that_depends_on_a_value_that_comes_later_is_refused_at_once(
    shop: Shop, key: Any, together: str
) -> None:
    shop.app.group("tenant", limit=1)

    @shop.app.task(group=("tenant", key))
    async def grouped(n: int = 1, extra: int = 0) -> int:
        return n

    with pytest.raises(
        InvalidOption, match=r"the group of a job .* 'n' is the value of the job before"
    ) as caught:
        follow(shop, together, grouped)
    assert caught.value.field == "group"
    known = follow(shop, together, grouped.options(group=("tenant", "a"))).last.new
    free = follow(shop, together, grouped.options(group=None)).last.new
    assert known.group is not None
    assert (known.group.ref.key, free.group) == ("a", None)


@pytest.mark.parametrize("together", ["chain", "gather"])
@pytest.mark.parametrize(
    "unique",
    [
        Unique(by="n"),
        Unique(by=("extra", "n"), within=60),
        Unique("k", on_conflict="keep_last"),
        Unique("k", on_conflict="merge", argument="n"),
    ],
    ids=["by", "by_several", "keep_last", "merge"],
)
@pytest.mark.parametrize("said_by", ["task", "job"])
def test_a_unique_key_that_needs_a_value_that_comes_later_is_refused_at_once(
    shop: Shop, unique: Unique, together: str, said_by: str
) -> None:
    chosen = shop.double.options(unique=unique)
    if said_by == "task":

        @shop.app.task(unique=unique)
        async def once(n: int, extra: int = 0) -> int:
            return n

        chosen = once

    with pytest.raises(
        InvalidOption, match=r"the unique key of task .* 'n' is the value of the job before"
    ) as caught:
        follow(shop, together, chosen)
    assert caught.value.field == "unique"
    assert follow(shop, together, shop.double.options(unique="k")).last.new.unique == "k"
    replacing = shop.double.options(unique=Unique("k", on_conflict="replace"))
    assert follow(shop, together, replacing).last.new.unique == "k"


@pytest.mark.parametrize("together", ["chain", "gather"])
def test_a_step_has_the_group_of_an_argument_that_keeps_its_default(shop: Shop, together: str) -> None:
    shop.app.group("tenant", limit=1)

    @shop.app.task(group=("tenant", "extra"))
    async def grouped(n: int = 1, extra: int = 7) -> int:
        return n

    new = follow(shop, together, grouped).last.new

    assert new.group is not None
    assert new.group.ref.key == "7"


def test_a_step_whose_arguments_are_there_has_the_group_and_key_that_they_say(shop: Shop) -> None:
    shop.app.group("tenant", limit=1)

    @shop.app.task(group=("tenant", "name"), unique=Unique(by="name"))
    async def tell(name: str) -> None: ...

    new = chain(shop.get.job(1), tell.job("a")).last.new

    assert new.group is not None
    assert (new.group.ref.key, new.unique) == ("a", "a")


def follow(shop: Shop, together: str, step: Any) -> Workflow[Any]:
    return chain(shop.get.job(1), step) if together == "chain" else gather([shop.get.job(1)], then=step)


def test_values_that_are_erased_at_once_cannot_be_handed_on(shop: Shop) -> None:
    with pytest.raises(InvalidOption, match="keep=0"):
        chain(shop.get.options(keep=0).job(1), shop.double)


@pytest.mark.parametrize("wrong", [7, "text", None, [1]])
def test_what_is_no_job_is_refused(shop: Shop, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        chain(wrong, shop.double)
    with pytest.raises(InvalidInput):
        gather([wrong], then=shop.total)
    with pytest.raises(InvalidInput):
        chain(shop.get.job(1), wrong)


def test_nothing_cannot_be_gathered(shop: Shop) -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        gather([], then=shop.total)


def test_a_workflow_is_shown_by_its_last_job(shop: Shop) -> None:
    flow: Workflow[Any] = chain(shop.get.job(1), shop.double)
    last: Draft[Any] = flow.last

    assert repr(flow) == f"<Workflow of 2, last double {last.id}>"
    assert flow.id == last.id
