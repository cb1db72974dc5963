"""Bulk operations: previewed, counted, resumed by whoever is there, and each job counted once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noria import Noria
from noria.backends.contract import Query, Tallied
from noria.front import asgi, limits, operation, operator
from noria.front.principal import SCOPES
from noria.model.state import State
from tests.support.door import MASTER, Place, bearer, place, shop, store
from tests.support.workplace import Faulty


async def begin(here: Place, status: int = 202, **wanted: Any) -> Any:
    answer = await here.ask("POST", "/v1/operations", wanted)
    assert answer.status_code == status, answer.text
    return answer.json()


async def ended(here: Place, id: str) -> Any:
    async with asyncio.timeout(20):
        while True:
            found = (await here.ask("GET", f"/v1/operations/{id}")).json()
            if found["state"] in ("done", "cancelled"):
                return found
            await asyncio.sleep(0.01)


async def stock(here: Place, count: int, **more: Any) -> list[str]:
    items = [{"task": "cube", "args": [number], "delay": 600, **more} for number in range(count)]
    found: list[str] = []
    for start in range(0, count, 1_000):
        answer = await here.ask("POST", "/v1/jobs/batch", items[start : start + 1_000])
        found += [item["job_id"] for item in answer.json()["items"]]
    return found


async def states(here: Place) -> dict[str, int]:
    counts = await here.app.backend.counts()
    return {
        state.word: number
        for queue in counts.queues.values()
        for state, number in queue.states.items()
        if number
    }


async def test_a_preview_tells_what_would_be_and_changes_nothing(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await stock(here, 25)
        await here.enqueue("nap", {"seconds": 1})
        seen = await begin(here, 200, action="cancel", filter={"q": "task:cube,nap"}, preview=True)

        assert (seen["count"], seen["expected"], seen["capped"], len(seen["samples"])) == (26, 26, False, 20)
        assert sorted((each["task"], each["state"], each["count"]) for each in seen["by"]) == [
            ("cube", "scheduled", 25),
            ("nap", "queued", 1),
        ]
        assert await states(here) == {"scheduled": 25, "queued": 1}
        assert (await here.ask("GET", "/v1/operations")).json()["items"] == []


async def test_an_operation_changes_all_that_match_and_counts_each_once(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await stock(here, 1_203)
        other = await here.enqueue("nap", {"seconds": 1})
        begun = await begin(here, action="cancel", filter={"task": "cube"}, note="wrong prices")
        done = await ended(here, begun["id"])

        assert (done["state"], done["matched"], done["done"]) == ("done", 1_203, 1_203)
        assert (done["skipped"], done["failed"], done["errors"]) == (0, 0, [])
        assert (done["note"], done["by"], done["filter"]) == ("wrong prices", "open", {"task": "cube"})
        assert done["finished_at"] is not None
        assert await states(here) == {"cancelled": 1_203, "queued": 1}
        assert (await here.job(other))["state"] == "queued"
        assert await here.app.backend.scan(operation.IDS) == [] == await here.app.backend.scan(operation.LIVE)


@pytest.mark.parametrize(
    ("action", "params", "field", "value"),
    [
        ("run", {}, "state", "queued"),
        ("move", {"queue": "other"}, "queue", "other"),
        ("set_priority", {"priority": 7}, "priority", 7),
        ("cancel", {}, "state", "cancelled"),
    ],
)
async def test_every_action_does_what_it_says(
    short_tmp: Path, action: str, params: Any, field: str, value: Any
) -> None:
    async with place(short_tmp) as here:
        ids = await stock(here, 3)
        begun = await begin(here, action=action, ids=ids[:2], params=params)
        assert (await ended(here, begun["id"]))["done"] == 2

        assert [(await here.job(id))[field] == value for id in ids] == [True, True, False]


async def test_dead_letters_are_retried_discarded_and_deleted(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        ids = [await here.enqueue("fail") for _ in range(3)]
        for id in ids:
            await here.ended(id)
        retried = await begin(
            here, action="retry", filter={"dead": "true"}, params={"delay": 600, "attempts": 1}
        )
        assert (await ended(here, retried["id"]))["done"] == 3
        assert {(await here.job(id))["state"] for id in ids} == {"scheduled"}

        again = await begin(here, action="run", ids=ids)
        await ended(here, again["id"])
        for id in ids:
            assert (await here.ended(id))["dead"]
        discarded = await begin(here, action="discard", filter={"q": "task:fail dead"})
        assert (await ended(here, discarded["id"]))["done"] == 3
        deleted = await begin(here, action="delete", filter={"task": "fail"})
        assert (await ended(here, deleted["id"]))["done"] == 3
        assert (await here.ask("GET", "/v1/jobs")).json()["items"] == []


async def test_jobs_whose_state_does_not_allow_it_are_skipped(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        succeeded = await here.enqueue("cube", [1])
        await here.ended(succeeded)
        failed = await here.enqueue("fail")
        await here.ended(failed)
        missing = "01a22c52-24f3-77d5-802a-6309c183da88"
        done = await ended(
            here, (await begin(here, action="retry", ids=[succeeded, failed, missing, failed]))["id"]
        )

        assert (done["matched"], done["done"], done["skipped"], done["failed"]) == (2, 1, 1, 0)


async def test_a_job_that_cannot_be_changed_is_named(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        unique = {"task": "cube", "args": [1], "delay": 600, "unique": {"key": "u"}}
        first = (await here.ask("POST", "/v1/jobs", unique)).json()["id"]
        await here.ask("POST", f"/v1/jobs/{first}/cancel")
        await here.ask("POST", "/v1/jobs", unique)
        done = await ended(here, (await begin(here, action="retry", ids=[first]))["id"])

        assert (done["failed"], done["errors"]) == (1, [{"job_id": first, "code": "unique_conflict"}])


@pytest.mark.parametrize(
    ("wanted", "pointer"),
    [
        ({"action": "cancel"}, "/filter"),
        ({"action": "cancel", "filter": {}, "ids": []}, "/filter"),
        ({"action": "cancel", "filter": {}}, "/filter"),
        ({"action": "cancel", "filter": {"q": ""}}, "/filter"),
        ({"action": "cancel", "filter": {"stat": "failed"}}, "/filter/stat"),
        ({"action": "cancel", "filter": {"q": "nonsense:1"}}, "/filter/q"),
        ({"action": "destroy", "filter": {"task": "cube"}}, "/action"),
        ({"action": "move", "filter": {"task": "cube"}}, "/params/queue"),
        ({"action": "move", "filter": {"task": "cube"}, "params": {"queue": "a b"}}, "/params/queue"),
        ({"action": "cancel", "filter": {"task": "cube"}, "params": {"priority": 1}}, "/params/priority"),
        ({"action": "set_priority", "filter": {"task": "cube"}}, "/params/priority"),
        ({"action": "run", "filter": {"task": "cube"}, "params": {"reason": "x"}}, "/params/reason"),
        ({"action": "cancel", "filter": {"task": "cube"}, "params": {"reason": 5}}, "/params/reason"),
        ({"action": "cancel", "ids": ["x"]}, "/ids"),
        ({"action": "cancel", "filter": {"task": "cube"}, "rate": 0}, "/rate"),
        ({"action": "cancel", "filter": {"task": "cube"}, "speed": 5}, "/speed"),
        ({"action": "cancel", "filter": {"task": "cube"}, "expected": -1}, "/expected"),
    ],
)
async def test_an_operation_that_makes_no_sense_is_not_begun(
    short_tmp: Path, wanted: Any, pointer: str
) -> None:
    async with place(short_tmp) as here:
        await stock(here, 1)
        refused = await begin(here, 422, **wanted)

        assert refused["errors"][0]["pointer"] == pointer
        assert await states(here) == {"scheduled": 1}


async def test_everything_is_meant_only_if_it_is_said(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await stock(here, 2)
        assert (await ended(here, (await begin(here, action="cancel", filter={}, all=True))["id"]))[
            "done"
        ] == 2


async def test_a_set_that_grew_since_its_preview_is_left_alone(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await stock(here, 21)
        refused = await begin(here, 412, action="cancel", filter={"task": "cube"}, expected=19)
        assert (refused["code"], refused["count"]) == ("count_changed", 21)
        fine = await begin(here, action="cancel", filter={"task": "cube"}, expected=20)
        assert (await ended(here, fine["id"]))["done"] == 21


async def test_a_set_larger_than_was_counted_is_met_only_if_that_is_said(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COUNT", 20)
    wanted = {"action": "cancel", "filter": {"task": "cube"}}
    async with place(short_tmp) as here:
        await stock(here, 30)
        seen = await begin(here, 200, **wanted, preview=True)
        assert (seen["count"], seen["expected"], seen["capped"]) == (20, 20, True)
        refused = await begin(here, 412, **wanted, expected=seen["expected"])
        assert refused["code"] == "count_changed" and "uncounted" in refused["detail"]
        # Whoever knows the number needs not say so, whatever is counted in a preview.
        await begin(here, 412, **wanted, expected=28)
        fine = await begin(here, **wanted, expected=seen["expected"], uncounted=True)
        assert (await ended(here, fine["id"]))["done"] == 30


async def test_the_guard_holds_at_and_above_what_a_preview_counts(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COUNT", 20)
    wanted = {"action": "cancel", "filter": {"task": "cube"}}
    async with place(short_tmp) as here:
        await stock(here, 42)
        assert (await begin(here, 412, **wanted, expected=39))["count"] == 41
        assert (await ended(here, (await begin(here, **wanted, expected=40))["id"]))["done"] == 42


async def test_a_count_that_was_given_up_does_not_pass_for_one(short_tmp: Path) -> None:
    wanted = {"action": "cancel", "filter": {"q": "task:cube text"}}
    async with place(short_tmp) as here:
        await stock(here, 2)
        faulty = Faulty(here.app.backend)
        here.front.desk.link.backend = faulty

        async def gave_up(*args: Any) -> Tallied:
            return Tallied(1, scan_limited=True)

        faulty.tally = gave_up
        seen = await begin(here, 200, **wanted, preview=True)
        assert seen["capped"] is True
        await begin(here, 412, **wanted, expected=seen["expected"])
        await begin(here, 202, **wanted, expected=seen["expected"], uncounted=True)


async def test_a_preview_of_ids_has_the_breakdown_too(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        ids = [*await stock(here, 22), await here.enqueue("nap", {"seconds": 1})]
        seen = await begin(here, 200, action="cancel", ids=ids, preview=True)

        assert seen["by"] == [
            {"task": "cube", "state": "scheduled", "count": 22},
            {"task": "nap", "state": "queued", "count": 1},
        ]
        assert (seen["count"], len(seen["samples"])) == (23, 20)


async def test_the_target_may_be_named(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        ids = await stock(here, 1)
        begun = await begin(here, action="cancel", target="jobs", ids=ids)
        assert begun["target"] == "jobs"
        refused = await begin(here, 422, action="cancel", target="deliveries", ids=ids)
        assert refused["errors"][0]["pointer"] == "/target"


@pytest.mark.parametrize(
    ("given", "told"),
    [({"note": "n"}, "n"), ({"note": "n", "params": {"reason": "wrong prices"}}, "wrong prices")],
)
async def test_why_jobs_are_cancelled_goes_with_each_of_them(short_tmp: Path, given: Any, told: str) -> None:
    async with place(short_tmp) as here:
        [id] = await stock(here, 1)
        await ended(here, (await begin(here, action="cancel", ids=[id], **given))["id"])

        assert (await here.job(id))["error"]["message"] == told


async def test_jobs_that_come_later_do_not_belong_to_it(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await stock(here, 30)
        begun = await begin(here, action="cancel", filter={"task": "cube"}, rate=30)
        async with asyncio.timeout(10):
            while (await here.ask("GET", f"/v1/operations/{begun['id']}")).json()["state"] == "freezing":
                await asyncio.sleep(0.005)
        late = await here.enqueue("cube", [1], delay=600)

        assert (await ended(here, begun["id"]))["matched"] == 30
        assert (await here.job(late))["state"] == "scheduled"


async def test_a_cancelled_operation_stops_and_counts_what_it_has_done(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        await stock(here, 100)
        begun = await begin(here, action="cancel", filter={"task": "cube"}, rate=5)
        async with asyncio.timeout(10):
            while (await here.ask("GET", f"/v1/operations/{begun['id']}")).json()["done"] < 5:
                await asyncio.sleep(0.005)
        for _ in range(2):
            stopped = await here.ask("POST", f"/v1/operations/{begun['id']}/cancel")
            assert (stopped.status_code, stopped.json()["state"]) == (200, "cancelled")
        found = await ended(here, begun["id"])

        assert 5 <= found["done"] < 100
        assert (await states(here))["cancelled"] == found["done"]


async def test_the_same_request_with_a_key_is_one_operation(short_tmp: Path) -> None:
    wanted = {"action": "cancel", "filter": {"task": "cube"}}
    async with place(short_tmp) as here:
        await stock(here, 2)
        made = [
            await here.ask("POST", "/v1/operations", wanted, headers={"idempotency-key": "k"})
            for _ in range(2)
        ]

        assert made[0].json()["id"] == made[1].json()["id"]
        assert made[1].headers["idempotent-replayed"] == "true"
        assert len((await here.ask("GET", "/v1/operations")).json()["items"]) == 1


async def test_operations_are_listed_newest_first_page_by_page(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        made = [
            (await begin(here, action="cancel", filter={"task": f"t{number}"}))["id"] for number in range(5)
        ]
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = (await here.ask("GET", "/v1/operations", params={"limit": 2, **cursor})).json()
            seen += [each["id"] for each in page["items"]]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}

        assert seen == made[::-1]


# ---- fronts come and go


@pytest.mark.parametrize("lost_at", [1, 2, 3, 5, 8])
async def test_an_operation_survives_its_front(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch, lost_at: int
) -> None:
    """The front is gone at its n-th write, which may have been done; another one goes on."""
    monkeypatch.setattr(operator, "LOOK", 0.05)
    monkeypatch.setattr(operator, "TENURE", 0.2)
    async with place(short_tmp) as here:
        await stock(here, 1_700)
        first = here.front.desk.operator
        faulty = Faulty(here.app.backend)
        first._backend = faulty
        faulty.fail("write", *["ok"] * (lost_at - 1), "unknown", *["unavailable"] * 1_000)
        begun = await begin(here, action="cancel", filter={"task": "cube"})
        async with asyncio.timeout(10):
            while faulty.calls["write"] < lost_at:
                await asyncio.sleep(0.005)
        first.stop()
        again = Noria(backend=store(short_tmp), runtime=short_tmp)
        shop(again)
        async with asgi(again, open=True):
            done = await ended(here, begun["id"])

        assert (done["state"], done["matched"]) == ("done", 1_700)
        assert done["done"] + done["skipped"] + done["failed"] == 1_700
        assert await states(here) == {"cancelled": 1_700}


async def test_two_fronts_that_run_the_same_operation_count_each_job_once(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "TENURE", -1.0)
    async with place(short_tmp) as here:
        await stock(here, 2_000)
        again = Noria(backend=store(short_tmp), runtime=short_tmp)
        shop(again)
        async with asgi(again, open=True) as other:
            begun = await begin(here, action="cancel", filter={"task": "cube"})
            other.desk.operator.begin(begun["id"])
            done = await ended(here, begun["id"])

        assert done["matched"] == done["done"] + done["skipped"] == 2_000
        found = await here.app.backend.tally(Query(states=(State.CANCELLED,)), 10_000)
        assert found.n == 2_000


# ---- who may


async def test_a_tenant_changes_its_own_jobs_only_and_sees_its_own_operations(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        scopes = [scope for scope in SCOPES if scope != "admin"]
        theirs = await here.key(*scopes, queues=["other"])
        job = await here.ask(
            "POST", "/v1/jobs", {"task": "cube", "args": [1], "delay": 60}, headers=bearer(MASTER)
        )
        id = job.json()["id"]
        for body in ({"filter": {}, "all": True}, {"ids": [id]}, {"filter": {"queue": "default"}}):
            preview = await here.ask(
                "POST", "/v1/operations", {"action": "cancel", "preview": True, **body}, headers=theirs
            )
            assert (preview.json()["count"], preview.json()["samples"]) == (0, []), body
            begun = await here.ask("POST", "/v1/operations", {"action": "cancel", **body}, headers=theirs)
            assert begun.status_code == 202
        moved = {"action": "move", "filter": {}, "all": True, "params": {"queue": "default"}}
        assert (await here.ask("POST", "/v1/operations", moved, headers=theirs)).json()[
            "code"
        ] == "queue_not_allowed"
        own = (await here.ask("GET", "/v1/operations", headers=theirs)).json()["items"]
        assert len(own) == 3
        master = await here.ask(
            "POST", "/v1/operations", {"action": "cancel", "filter": {"task": "nap"}}, headers=bearer(MASTER)
        )
        hidden = await here.ask("GET", f"/v1/operations/{master.json()['id']}", headers=theirs)
        assert (hidden.status_code, hidden.json()["code"]) == (404, "operation_unknown")
        assert (await here.ask("GET", f"/v1/jobs/{id}", headers=bearer(MASTER))).json()[
            "state"
        ] == "scheduled"


async def test_deleting_in_bulk_needs_admin(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        operator_ = await here.key("jobs:manage", "jobs:read")
        wanted = {"action": "delete", "filter": {"task": "cube"}}
        refused = await here.ask("POST", "/v1/operations", wanted, headers=operator_)

        assert (refused.status_code, refused.json()["scope"]) == (403, "admin")
