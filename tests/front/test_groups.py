"""Groups over HTTP: jobs say theirs, lists show them, and people close and open them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noria import Noria
from noria.backends.contract import FamilyRef, ResourceRef
from noria.model.groups import Need, Rule
from tests.support.door import Place, place

SHOP = {"family": "host", "key": "shop.example"}


def crawl(app: Noria) -> None:
    """Tasks whose jobs have groups and needs."""
    app.group("host", limit=1)
    app.resource("tunnel", capacity=2)

    @app.task(group=("host", "url.host"), needs=("tunnel",))
    async def fetch(url: str) -> str:
        return url

    @app.task(group=("host", lambda url: url))
    async def odd(url: str) -> str:
        return url


async def groups(here: Place, **params: Any) -> list[dict[str, Any]]:
    answer = await here.ask("GET", "/v1/groups", params=params)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


async def test_the_arguments_of_a_request_say_the_group(short_tmp: Path) -> None:
    async with place(short_tmp, crawl) as here:
        ids = [await here.enqueue("fetch", {"url": f"https://Shop.Example/{n}"}) for n in range(3)]
        job = await here.job(ids[1])

        assert (job["state"], job["group"], job["needs"]) == ("waiting", SHOP, ["tunnel"])
        (line,) = await groups(here)
        assert {**line, "holders": None} == {
            **SHOP, "limit": 1, "rate": None, "ordered": False, "taken": 1, "waiting": 2, "holders": None,
            "closed": None, "next_at": None,
        }  # fmt: skip
        assert line["holders"] == ids[:1]
        why = (await here.ask("GET", f"/v1/jobs/{ids[2]}/explain")).json()
        assert [reason["code"] for reason in why["reasons"]][:2] == ["waiting", "group_full"]
        (tunnel,) = (await here.ask("GET", "/v1/resources")).json()["items"]
        assert (tunnel["name"], tunnel["capacity"], tunnel["used"]) == ("tunnel", 2, 0)


async def test_a_request_may_name_another_group_or_none(short_tmp: Path) -> None:
    async with place(short_tmp, crawl) as here:
        named = await here.job(await here.enqueue("odd", {"url": "x"}, group={"family": "host", "key": "b"}))
        free = await here.job(await here.enqueue("fetch", {"url": "https://a.example"}, group=None))

        assert (named["group"], free["group"]) == ({"family": "host", "key": "b"}, None)


@pytest.mark.parametrize(("method", "way"), [("POST", "/retry"), ("PATCH", "")])
async def test_new_arguments_may_not_say_another_group(short_tmp: Path, method: str, way: str) -> None:
    async with place(short_tmp, crawl) as here:
        first = await here.enqueue("fetch", {"url": "https://shop.example/1"})
        id = await here.enqueue("fetch", {"url": "https://shop.example/2"})
        if way:
            for each in (first, id):
                await here.ask("POST", f"/v1/jobs/{each}/cancel")

        other = await here.ask(method, f"/v1/jobs/{id}{way}", {"args": {"url": "https://b.example"}})
        same = await here.ask(method, f"/v1/jobs/{id}{way}", {"args": {"url": "https://shop.example/3"}})
        job = await here.job(id)

    assert (other.status_code, other.json()["code"]) == (422, "invalid_args")
    assert "host=shop.example" in other.json()["detail"]
    assert (same.status_code, job["args"], job["group"]) == (200, {"url": "https://shop.example/3"}, SHOP)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"task": "odd", "args": ["x"]}, "/group"),
        ({"task": "fetch", "args": ["no url"]}, "/url/host"),
        ({"task": "fetch", "args": ["https://a.b"], "group": {"family": "a b", "key": "c"}}, "/family"),
    ],
)
async def test_a_group_that_cannot_be_found_is_refused(short_tmp: Path, body: Any, pointer: str) -> None:
    async with place(short_tmp, crawl) as here:
        answer = await here.ask("POST", "/v1/jobs", body)

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_a_copy_is_of_the_same_group(short_tmp: Path) -> None:
    async with place(short_tmp, crawl) as here:
        id = await here.enqueue("odd", {"url": "x"}, group=SHOP)
        copied = await here.ask("POST", f"/v1/jobs/{id}/copy")

        assert (copied.status_code, copied.json()["group"]) == (201, SHOP)


async def test_a_group_is_closed_and_opened(short_tmp: Path) -> None:
    async with place(short_tmp, crawl, worker=True) as here:
        for _ in range(2):
            closed = await here.ask("POST", "/v1/groups/close", {**SHOP, "reason": "they asked us to stop"})
            assert closed.json()["closed"] == {"by": "open", "reason": "they asked us to stop", "until": None}
        id = await here.enqueue("fetch", {"url": "https://shop.example/"})
        assert (await here.job(id, wait=0.3))["state"] == "waiting"

        opened = await here.ask("POST", "/v1/groups/open", SHOP)
        assert (opened.status_code, opened.json()["closed"]) == (200, None)
        assert (await here.ended(id))["result"] == "https://shop.example/"


async def test_groups_come_page_by_page(short_tmp: Path) -> None:
    async with place(short_tmp, crawl) as here:
        for key in "abcde":
            await here.enqueue("odd", {"url": key}, group={"family": "host", "key": key})
        first = (await here.ask("GET", "/v1/groups", params={"limit": 3, "family": "host"})).json()
        rest = await groups(here, limit=3, family="host", cursor=first["next"])

        assert [line["key"] for line in [*first["items"], *rest]] == list("abcde")
        assert await groups(here, family="user") == []
        assert (await here.ask("GET", "/v1/groups", params={"cursor": "x"})).json()["code"] == "bad_cursor"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"family": "host"}, "/key"),
        ({"family": " ", "key": "a"}, "/family"),
        ({**SHOP, "until": 7}, "/until"),
    ],
)
async def test_what_is_no_group_cannot_be_closed(short_tmp: Path, body: Any, pointer: str) -> None:
    async with place(short_tmp, crawl) as here:
        answer = await here.ask("POST", "/v1/groups/close", body)

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_a_worker_tells_the_store_what_is_declared(short_tmp: Path) -> None:
    """So that a limit that was changed holds for jobs that were enqueued before."""
    async with place(short_tmp, crawl) as here:
        backend = here.app.backend
        await backend.steer(FamilyRef("host"), Rule(limit=9))
        await backend.steer(ResourceRef("tunnel"), Need("tunnel", capacity=9))

        await here.app.home.families.declare(backend)

        await here.enqueue("fetch", {"url": "https://shop.example/"})
        assert [line["limit"] for line in await groups(here)] == [1]
        assert [line.need.capacity for line in await backend.resources()] == [2]
