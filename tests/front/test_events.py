"""Event streams: the whole job first, then every change that can be seen, and an end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noria.backends.contract import DocWrite
from noria.front import events, keys
from tests.support.door import MASTER, Place, bearer, place


class Reader:
    """A client of an event stream, straight at the application: it reads as fast, and leaves when, the test says."""

    def __init__(self, here: Place, id: str, **headers: str) -> None:
        self.text = ""
        self.status = 0
        self.reads = asyncio.Event()
        self.reads.set()
        self.leaves = asyncio.Event()
        self.more = asyncio.Event()
        given = {"host": "localhost", "accept": "text/event-stream", **headers}
        self._scope = {
            "type": "http", "method": "GET", "path": f"/v1/jobs/{id}/events", "query_string": b"", "root_path": "",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()],
            "http_version": "1.1", "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        self._asked = False
        self.done = asyncio.ensure_future(here.front(self._scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        self.text += message.get("body", b"").decode()
        self.more.set()

    async def until(self, word: str) -> None:
        async with asyncio.timeout(10):
            while word not in self.text:
                self.more.clear()
                await self.more.wait()

    def events(self) -> list[tuple[str, Any]]:
        """The names and data of what came so far."""
        found = []
        for block in self.text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "event" in fields:
                found.append((fields["event"], json.loads(fields["data"])))
        return found


async def test_the_job_comes_first_and_its_end_closes_the_stream(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        reader = Reader(here, id)
        await reader.until("event: job")
        await here.hire()
        await asyncio.wait_for(reader.done, 10)

        found = reader.events()
        assert reader.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert reader.headers["x-accel-buffering"] == "no" and "content-length" not in reader.headers
        assert found[0] == ("job", {**found[0][1], "state": "queued"})
        assert (found[-1][0], found[-1][1]["state"], found[-1][1]["result"]) == ("state", "succeeded", 27)
        assert here.front.desk.streams.count == 0


async def test_a_stream_of_a_job_that_has_ended_ends_at_once(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("cube", [3])
        await here.ended(id)
        reader = Reader(here, id)
        await asyncio.wait_for(reader.done, 5)

        [(name, job)] = reader.events()
        assert (name, job["result"]) == ("job", 27)


async def test_a_browser_that_has_seen_the_end_is_told_not_to_come_again(short_tmp: Path) -> None:
    async with place(short_tmp, worker=True) as here:
        id = await here.enqueue("cube", [3])
        await here.ended(id)
        first = Reader(here, id)
        await first.done
        last = next(line[4:] for line in first.text.splitlines() if line.startswith("id: "))
        again = Reader(here, id, last_event_id=last)
        await asyncio.wait_for(again.done, 5)

        assert (again.status, again.text) == (204, "")


async def test_a_change_by_a_person_is_seen(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        reader = Reader(here, id)
        await reader.until("event: job")
        await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": 7})
        await reader.until('"priority":7')
        await here.ask("POST", f"/v1/jobs/{id}/cancel")
        await asyncio.wait_for(reader.done, 10)

        assert reader.events()[-1][1]["state"] == "cancelled"


async def test_a_stream_that_is_silent_says_now_and_then_that_it_lives(
    short_tmp: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(events, "PING", 0.05)
    async with place(short_tmp) as here:
        reader = Reader(here, await here.enqueue("cube", [3]))
        await reader.until(": ping\n\n: ping")
        reader.leaves.set()
        await asyncio.wait_for(reader.done, 5)


async def test_a_client_that_leaves_frees_its_stream(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        reader = Reader(here, await here.enqueue("cube", [3]))
        await reader.until("event: job")
        assert here.front.desk.streams.count == 1
        reader.leaves.set()
        await asyncio.wait_for(reader.done, 5)

        assert here.front.desk.streams.count == 0


async def test_a_slow_reader_gets_the_newest_state_and_costs_no_memory(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        reader = Reader(here, id)
        await reader.until("event: job")
        reader.reads.clear()
        for priority in range(1, 10):
            await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": priority})
            await here.front.desk.watch._read([next(iter(here.front.desk.watch._followers))])
        reader.reads.set()
        await reader.until('"priority":9')

        assert len(reader.events()) <= 4, "what it did not read in time was not kept for it"
        reader.leaves.set()
        await reader.done


async def test_a_version_is_told_once_when_the_look_for_all_is_older_than_the_streams_own(
    short_tmp: Path,
) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        reader = Reader(here, id)
        await reader.until("event: job")
        [[follower]] = here.front.desk.watch._followers.values()
        await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": 1})
        [older] = await here.front.desk.backend.get([follower.id])
        await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": 2})
        await reader.until('"priority":2')
        follower.tell(older)
        await here.ask("POST", f"/v1/jobs/{id}/cancel")
        await asyncio.wait_for(reader.done, 10)

        numbers = [int(line[4:]) for line in reader.text.splitlines() if line.startswith("id: ")]
        assert numbers == sorted(set(numbers))


async def test_a_reader_that_does_not_read_is_sent_away(short_tmp: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(events, "PATIENCE", 0.05)
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3], delay=600)
        reader = Reader(here, id)
        await reader.until("event: job")
        reader.reads.clear()
        await here.ask("PATCH", f"/v1/jobs/{id}", {"priority": 1})
        await asyncio.wait_for(reader.done, 10)

        assert here.front.desk.streams.count == 0


async def test_a_front_that_stops_says_goodbye_on_every_stream(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        readers = [Reader(here, id) for _ in range(200)]
        for reader in readers:
            await reader.until("event: job")
        here.front.drain()
        async with asyncio.timeout(5):
            await asyncio.gather(*(reader.done for reader in readers))

        farewells = [reader.events()[-1] for reader in readers]
        assert {name for name, _ in farewells} == {"bye"}
        assert all(1_000 <= data["retry"] <= 3_000 for _, data in farewells)
        assert len({data["retry"] for _, data in farewells}) > 10, "they must not all come back at once"


async def test_a_job_that_vanishes_ends_its_stream(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("echo", {"value": 1})
        reader = Reader(here, id)
        await reader.until("event: job")
        await here.hire()  # the job is erased at its success
        await asyncio.wait_for(reader.done, 10)

        assert reader.events()[-1][0] == "gone"


async def test_streams_are_bounded_in_all_and_for_each_key(short_tmp: Path) -> None:
    async with place(short_tmp, api_key=MASTER, streams=3, streams_per_key=1) as here:
        job = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [3]}, headers=bearer(MASTER))
        id = job.json()["id"]
        holder = await here.key("jobs:read")
        other = await here.key("jobs:read")
        first = [Reader(here, id, **holder), Reader(here, id, **other)]
        for reader in first:
            await reader.until("event: job")
        second = Reader(here, id, **holder)
        await second.done
        third = Reader(here, id, **bearer(MASTER))
        await third.until("event: job")
        fourth = Reader(here, id, **bearer(MASTER))
        await fourth.done

        assert (second.status, fourth.status) == (429, 429)
        assert "too_many_streams" in second.text and "too_many_streams" in fourth.text
        for reader in (*first, third):
            reader.leaves.set()
            await reader.done


async def test_clients_without_streams_wait_for_a_list(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        first = (await here.ask("GET", f"/v1/jobs/{id}/events")).json()
        [event] = first["items"]
        assert (event["event"], event["data"]["state"], first["final"]) == ("job", "queued", False)

        nothing = (await here.ask("GET", f"/v1/jobs/{id}/events?after={first['next']}&wait=0.05")).json()
        assert (nothing["items"], nothing["next"]) == ([], first["next"])

        waiting = asyncio.ensure_future(
            here.ask("GET", f"/v1/jobs/{id}/events?after={first['next']}&wait=20")
        )
        await here.ask("POST", f"/v1/jobs/{id}/cancel")
        second = (await asyncio.wait_for(waiting, 10)).json()
        assert (second["items"][0]["data"]["state"], second["final"]) == ("cancelled", True)


async def test_a_key_that_is_good_no_more_reads_no_stream_on(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "LOOK", 0.02)
    async with place(short_tmp, api_key=MASTER) as here:
        made = await here.ask("POST", "/v1/jobs", {"task": "cube", "args": [3]}, headers=bearer(MASTER))
        id = made.json()["id"]
        revoked, expired, good = [await here.key("jobs:read") for _ in range(3)]
        readers = [Reader(here, id, **each) for each in (revoked, expired, good, bearer(MASTER))]
        for reader in readers:
            await reader.until("event: job")
        # The store is changed behind the front's back, as another front changes it.
        board = here.front.desk.backend
        first, second = [each["authorization"].split("_")[1] for each in (revoked, expired)]
        [doc] = await board.read(keys.KIND, [second])
        key = keys.read_key(doc)
        assert key is not None
        past = msgspec.json.encode(msgspec.structs.replace(key, expires=key.created))
        await board.write([DocWrite(keys.KIND, first, None), DocWrite(keys.KIND, second, past)])
        await asyncio.wait_for(asyncio.gather(*(reader.done for reader in readers[:2])), 5)

        assert [reader.events()[-1][0] for reader in readers] == ["bye", "bye", "job", "job"]
        assert not any(reader.done.done() for reader in readers[2:])
        for reader in readers[2:]:
            reader.leaves.set()
            await reader.done


async def test_a_first_key_ends_the_streams_of_those_who_had_none(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "LOOK", 0.02)
    async with place(short_tmp) as here:
        reader = Reader(here, await here.enqueue("cube", [3]))
        await reader.until("event: job")
        await here.ask("POST", "/v1/keys", {"name": "first", "scopes": ["admin"]})
        await asyncio.wait_for(reader.done, 5)

        assert reader.events()[-1][0] == "bye"


def test_a_stream_ends_within_the_time_that_is_promised_for_keys() -> None:
    assert 2 * keys.LOOK < keys.FRESH == 5
