"""Partial results and progress in event streams: in order, each once, also for who comes late or comes again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from noria.backends.contract import Mark, Want, WorkerCard
from noria.ids import Id, SessionId, from_text
from noria.model.job import Lease
from noria.model.limits import MAX_EMITTED
from noria.model.mark import Progress
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.front.test_events import Reader
from tests.support.door import Place, place


class Hand:
    """Runs a job by hand, so that the test says when it writes what."""

    def __init__(self, here: Place, session: SessionId, lease: Lease) -> None:
        self._here = here
        self._session = session
        self._lease = lease
        self._sent = 0

    async def write(self, *items: bytes, **fields: Any) -> None:
        mark = Mark(self._lease.id, self._lease.starts, items=items, first=self._sent, **fields)
        self._sent += len(items)
        await self._here.app.backend.mark(self._session, [mark])

    async def end(self) -> None:
        end = Settlement(self._lease.id, self._lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"27")
        await self._here.app.backend.settle(self._session, [end])


async def take(here: Place, id: str) -> Hand:
    session = await here.app.backend.open(
        WorkerCard(worker="w", host="h", pid=1, tasks=("cube",), queues=("default",))
    )
    batch = await here.app.backend.lease(session, [Want("default", 1)], 1, 5.0)
    assert batch.leases[0].id == Id(from_text(id))
    return Hand(here, session, batch.leases[0])


def items(reader: Reader) -> list[tuple[int, Any]]:
    return [(data["offset"], data.get("item")) for name, data in reader.events() if name == "item"]


async def test_items_come_as_they_are_sent_and_before_the_end(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        hand = await take(here, id)
        reader = Reader(here, id)
        await reader.until("event: job")
        await hand.write(b'"a"', b'{"n": 1}')
        await reader.until('"offset":1')
        await hand.write(b'"c"')
        await hand.end()
        await asyncio.wait_for(reader.done, 30)

        assert items(reader) == [(0, "a"), (1, {"n": 1}), (2, "c")]
        assert reader.events()[-1][0] == "state"
        assert reader.events()[-1][1]["state"] == "succeeded"


async def test_progress_alone_is_told_in_few_words(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        hand = await take(here, id)
        reader = Reader(here, id)
        await reader.until("event: job")
        await hand.write(progress=Progress(0.5, "half"))
        await reader.until("event: progress")
        await hand.end()
        await asyncio.wait_for(reader.done, 30)

        told = [data for name, data in reader.events() if name == "progress"]
        assert [(each["fraction"], each["note"]) for each in told] == [(0.5, "half")]


async def test_who_comes_late_gets_everything_and_who_comes_again_goes_on(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        hand = await take(here, id)
        await hand.write(b"0", b"1", b"2")
        late = Reader(here, id)
        await late.until('"offset":2')
        ids = [line.removeprefix("id: ") for line in late.text.splitlines() if line.startswith("id: ")]
        again = Reader(here, id, last_event_id=ids[-2])
        await again.until('"offset":2')
        await hand.end()
        await asyncio.wait_for(asyncio.gather(late.done, again.done), 30)

        assert items(late) == [(0, 0), (1, 1), (2, 2)]
        assert items(again) == [(2, 2)]


async def test_what_was_dropped_is_a_gap(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        hand = await take(here, id)
        await hand.write(*[b"%d" % n for n in range(MAX_EMITTED + 2)])
        await hand.end()
        reader = Reader(here, id)
        await asyncio.wait_for(reader.done, 30)

        gaps = [data for name, data in reader.events() if name == "gap"]
        assert gaps == [{"offset": 2}]
        assert [offset for offset, _ in items(reader)] == list(range(2, MAX_EMITTED + 2))


async def test_a_client_without_streams_asks_for_a_list_at_a_time(short_tmp: Path) -> None:
    async with place(short_tmp) as here:
        id = await here.enqueue("cube", [3])
        hand = await take(here, id)
        await hand.write(*[b"%d" % n for n in range(150)])
        await hand.end()
        found, after, final = list[dict[str, Any]](), "", False
        while not final:
            page = (await here.ask("GET", f"/v1/jobs/{id}/events", params={"after": after})).json()
            found += page["items"]
            after, final = page["next"], page["final"]

        assert [each["data"]["item"] for each in found if each["event"] == "item"] == list(range(150))
        assert found[-1]["event"] == "job"
        assert found[-1]["data"]["items"] == 150
