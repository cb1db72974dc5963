"""Waiting for jobs over HTTP: every wait has an end, and the right one."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from noria.backends.contract import Counts, QueueCounts
from noria.errors import Unavailable
from noria.front import asgi
from noria.model.state import State
from tests.support.door import MASTER, Place, bearer, place, shop, store
from tests.support.workplace import Faulty


async def until(seen: Any) -> None:
    async with asyncio.timeout(10):
        while not seen():
            await asyncio.sleep(0.005)


async def test_a_wait_that_is_over_is_answered_with_the_job(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask(
            "POST", "/v1/jobs", {"task": "cube", "args": [1]}, headers={"prefer": "wait=0.05"}
        )

        assert (answer.status_code, answer.json()["state"]) == (202, "queued")
        assert answer.headers["preference-applied"] == "wait=0.05"
        assert "location" in answer.headers and "retry-after" in answer.headers


async def test_a_read_that_waits_is_200_whatever_the_job_has_come_to(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [1])
        answer = await here.ask("GET", f"/v1/jobs/{id}?wait=0.05")

        assert (answer.status_code, answer.json()["final"]) == (200, False)


@pytest.mark.parametrize(
    ("prefer", "applied"),
    [
        ("wait=0.01", "wait=0.01"),
        ('wait="0.01"', "wait=0.01"),
        ("foo, WAIT = 0.01; x=y", "wait=0.01"),
        ("return=minimal, wait=0.01", "wait=0.01"),
        ("wait=0", "wait=0"),
        ("respond-async, wait=0.01", "wait=0.01"),
        ("respond-async", None),
        ("wait=soon", None),
        ("wait=-1", None),
        ("wait=1.2.3", None),
        ("", None),
    ],
)
async def test_a_preference_is_read_as_the_standard_says(
    short_tmp: Path, prefer: str, applied: str | None
) -> None:
    async with place(short_tmp) as here:
        answer = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1]}, headers={"prefer": prefer})

        assert answer.status_code == 202
        assert answer.headers.get("preference-applied") == applied


async def test_no_wait_is_longer_than_the_front_allows(short_tmp: Path) -> None:
    async with place(short_tmp, wait=0.05) as here:
        answer = await here.ask("POST", "/v1/jobs?wait=3600", {"task": "cube", "args": [1]})

        assert answer.headers["preference-applied"] == "wait=0.05"


async def test_a_waiter_is_never_too_late_for_an_outcome(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        began = time.monotonic()
        for number in range(40):
            id = await here.enqueue("cube", [number])
            await asyncio.sleep(
                0.001 * (number % 8)
            )  # meets the outcome before, while and after it is settled
            assert (await here.job(id, wait=20))["result"] == number**3
        assert time.monotonic() - began < 20, "one wait at least took its full length"


async def test_a_transient_error_does_not_end_a_wait(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        faulty = Faulty(here.app.backend)
        here.front.desk.link.outcomes._backend = faulty
        id = await here.enqueue("cube", [3])
        faulty.fail("get", "unavailable", "unavailable")
        waiting = asyncio.ensure_future(here.ask("GET", f"/v1/jobs/{id}?wait=20"))
        await until(lambda: faulty.calls["get"] >= 2)
        await here.hire()

        assert (await waiting).json()["result"] == 27


async def test_as_many_wait_as_may_and_no_submit_is_ever_refused_for_it(short_tmp: Path) -> None:
    async with place(short_tmp, waiters=2) as here:
        id = await here.enqueue("cube", [3])
        held = [asyncio.ensure_future(here.ask("GET", f"/v1/jobs/{id}?wait=20")) for _ in range(2)]
        await until(lambda: here.front.desk.waiting.count == 2)

        refused = await here.ask("GET", f"/v1/jobs/{id}?wait=20")
        submitted = await here.ask("POST", "/v1/jobs?wait=20", {"task": "cube", "args": [4]})
        called = await here.ask("POST", "/v1/call/cube", {"a": 5})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiters")
        assert (submitted.status_code, called.status_code) == (202, 202)

        await here.hire()
        assert [answer.json()["result"] for answer in await asyncio.gather(*held)] == [27, 27]
        assert here.front.desk.waiting.count == 0


async def test_a_front_that_stops_sends_waiters_elsewhere_at_once(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        reading = asyncio.ensure_future(here.ask("GET", f"/v1/jobs/{id}?wait=20"))
        posting = asyncio.ensure_future(here.ask("POST", "/v1/jobs?wait=20", {"task": "cube", "args": [4]}))
        await until(lambda: here.front.desk.waiting.count == 2)
        here.front.drain()

        read, posted = await asyncio.wait_for(asyncio.gather(reading, posting), 5)
        assert (read.status_code, posted.status_code) == (200, 202)
        assert read.headers["retry-after"] == posted.headers["retry-after"] == "0"
        late = await asyncio.wait_for(here.ask("GET", f"/v1/jobs/{id}?wait=20"), 5)
        assert late.status_code == 200
        assert (await here.ask("GET", "/readyz")).json()["code"] == "draining"


class Leaver:
    """An ASGI client that sends a request, and hangs up when it is told to."""

    def __init__(self, here: Place, path: str, body: bytes) -> None:
        self.hang_up = asyncio.Event()
        self._body = [{"type": "http.request", "body": body, "more_body": False}]
        scope = {
            "type": "http", "method": "POST", "path": path, "query_string": b"wait=30", "root_path": "",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
            "http_version": "1.1", "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        self.done = asyncio.ensure_future(here.front(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if self._body:
            return self._body.pop()
        await self.hang_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("extra", "state"), [("", "queued"), (', "cancel_on_disconnect": true', "cancelled")]
)
async def test_a_client_that_leaves_frees_its_waiter_and_keeps_its_job(
    short_tmp: Path, extra: str, state: str
) -> None:
    async with place(short_tmp) as here:
        body = f'{{"task": "cube", "args": {{"a": 3}}{extra}}}'
        client = Leaver(here, "/v1/jobs", body.encode())
        await until(lambda: here.front.desk.waiting.count == 1)
        client.hang_up.set()
        await asyncio.wait_for(client.done, 5)

        assert here.front.desk.waiting.count == 0
        [job] = (await here.ask("GET", "/v1/jobs")).json()["items"]
        assert job["state"] == state


async def test_the_answer_is_waited_for_at_another_front(short_tmp: Path) -> None:
    async with place(short_tmp) as one:
        other = type(one.app)(backend=store(short_tmp), runtime=short_tmp)
        shop(other)
        front = asgi(other, open=True)
        async with front:
            there = Place(other, front, one.client.__class__(
                transport=one.client._transport.__class__(front), base_url="http://localhost", timeout=30
            ))  # fmt: skip
            id = await one.enqueue("nap", {"seconds": 0.2})
            waits = [there.job(id, wait=20), one.job(id, wait=20)]
            waiting = asyncio.gather(*waits)
            await there.hire()
            began = time.monotonic()
            assert [job["result"] for job in await waiting] == ["rested", "rested"]
            assert time.monotonic() - began < 10
            await there.client.aclose()
            await there.close()


async def test_a_backend_that_is_away_is_503_and_never_500(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        faulty = Faulty(here.app.backend)
        here.front.desk.link.backend = faulty
        body = {"task": "cube", "args": [3]}
        faulty.fail("push", "unavailable", "unknown", "unknown")
        away = await here.ask("POST", "/v1/jobs", body)
        unsafe = await here.ask("POST", "/v1/jobs", body)
        safe = await here.ask("POST", "/v1/jobs", body, headers={"idempotency-key": "k"})
        again = await here.ask("POST", "/v1/jobs", body, headers={"idempotency-key": "k"})

        assert [answer.status_code for answer in (away, unsafe, safe)] == [503, 503, 503]
        assert "retry_safe" not in away.json() and away.headers["retry-after"] == "1"
        assert (unsafe.json()["retry_safe"], safe.json()["retry_safe"]) == (False, True)
        assert again.headers["idempotent-replayed"] == "true"
        faulty.fail("read", Unavailable("away"))
        assert (await here.ask("GET", "/readyz")).status_code == 503


async def test_a_key_has_so_many_waiters_and_others_have_theirs(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER, waiters_per_key=2) as here:
        ours, theirs = await here.key("jobs:read"), await here.key("jobs:read")
        made = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [3]}, headers=bearer(MASTER))
        path = f"/v1/jobs/{made.json()['id']}?wait=20"
        held = [asyncio.ensure_future(here.ask("GET", path, headers=ours)) for _ in range(2)]
        await until(lambda: here.front.desk.waiting.count == 2)
        refused = await here.ask("GET", path, headers=ours)
        held += [
            asyncio.ensure_future(here.ask("GET", path, headers=each)) for each in (theirs, bearer(MASTER))
        ]
        await until(lambda: here.front.desk.waiting.count == 4)

        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiters")
        await here.hire()
        assert {answer.json()["result"] for answer in await asyncio.gather(*held)} == {27}
        assert not here.front.desk.waiting._of_key, "who has gone is remembered no more"


async def test_whoever_waits_for_a_job_that_is_erased_at_success_gets_its_result(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("echo", {"value": 5})
        asked = [here.ask("GET", f"/v1/jobs/{id}{path}?wait=20") for path in ("", "/result")]
        waiting = [asyncio.ensure_future(each) for each in asked]
        await until(lambda: here.front.desk.waiting.count == 2)
        await here.hire()
        job, bare = await asyncio.gather(*waiting)

        assert (job.status_code, job.json()["state"], job.json()["result"]) == (200, "succeeded", 5)
        assert (bare.status_code, bare.text) == (200, "5")
        late = await here.ask("GET", f"/v1/jobs/{id}/result")
        assert (late.status_code, late.json()["code"]) == (404, "job_not_found")
        assert "erased" in late.json()["detail"]


@pytest.mark.parametrize(("age", "again"), [(None, "1"), (9.0, "1"), (45.0, "4"), (10_000.0, "30")])
async def test_the_longer_a_queue_keeps_jobs_waiting_the_later_one_should_ask_again(
    short_tmp: Path, age: float | None, again: str
) -> None:
    async def counted() -> Counts:
        return Counts({"default": QueueCounts({State.QUEUED: 1}, oldest_ready=age)}, [])

    async with place(short_tmp) as here:
        here.front.desk.intake._look = counted
        id = await here.enqueue("cube", [1])
        await until(lambda: here.front.desk.intake._counts is not None)
        posted = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1]})
        read = await here.ask("GET", f"/v1/jobs/{id}")
        unfinished = await here.ask("GET", f"/v1/jobs/{id}/result")
        elsewhere = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1], "queue": "idle"})

        assert [each.headers["retry-after"] for each in (posted, read, unfinished)] == [again] * 3
        assert unfinished.json()["retry_after"] == int(again)
        assert elsewhere.headers["retry-after"] == "1"


async def test_a_store_that_does_not_count_delays_no_answer(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        faulty = Faulty(here.app.backend)
        here.front.desk.link.backend = faulty
        faulty.fail("counts", "hang", "unavailable")
        answer = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [1]})

        assert (answer.status_code, answer.headers["retry-after"]) == (202, "1")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/jobs/{id}?wait=20", None),
        ("GET", "/v1/jobs/{id}/result?wait=20", None),
        ("GET", "/v1/jobs/{id}/events?after={version}&wait=20", None),
        ("POST", "/v1/jobs?wait=20", {"task": "cube", "args": [3]}),
        ("POST", "/v1/call/cube", {"a": 3}),
    ],
)
async def test_a_key_that_was_revoked_meanwhile_is_told_nothing_at_the_end_of_its_wait(
    short_tmp: Path, method: str, path: str, body: Any
) -> None:
    async with place(short_tmp, api_key=MASTER) as here:
        master, key = bearer(MASTER), await here.key("jobs:read", "jobs:enqueue", "jobs:manage")
        job = {"task": "cube", "args": [3]}
        id = (await here.ask("POST", "/v1/jobs", job, headers=master)).json()["id"]
        listed = (await here.ask("GET", f"/v1/jobs/{id}/events", headers=master)).json()
        where = path.format(id=id, version=listed["next"])
        waiting = asyncio.ensure_future(here.ask(method, where, body, headers=key))
        await until(lambda: here.front.desk.waiting.count == 1)
        await here.ask("DELETE", f"/v1/keys/{key['authorization'].split('_')[1]}", headers=master)
        await here.hire()
        answer = await asyncio.wait_for(waiting, 10)

        assert (answer.status_code, answer.json()["code"]) == (401, "bad_key")
        assert "waited" in answer.json()["detail"]
