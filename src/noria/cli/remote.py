"""A front as a source of jobs and queues: the same questions, over REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from noria import ids
from noria.backends.contract import Altered, Counts
from noria.cli.peer import Page, Peer, Refused
from noria.cli.query import Wanted
from noria.cli.resources import Job, Queue, Worker, counts_of, record_of
from noria.cli.source import Kind, Listed
from noria.errors import JobNotFound
from noria.ids import Id
from noria.model.job import Record
from noria.model.reason import Reason
from noria.model.state import State

_IDS: Final = 1_000
Status = Literal["done", "asked", "missing", "refused", "conflict"]
_STATES: Final = {state.word: state for state in State}


class Explained(msgspec.Struct):
    """Why a job is not running."""

    explain: str
    reasons: list[Reason] = []


class RemoteSource:
    """A front, as `noria.cli.source.Source`."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def find(self, wanted: Wanted, after: str | None, limit: int) -> Listed:
        """As `Source`; `after` is a cursor of the front."""
        query = {"limit": str(limit)}
        if wanted.text:
            query["q"] = wanted.text
        if after is not None:
            query["cursor"] = after
        page = (await self._peer.ask("GET", "/v1/jobs", query=query)).read(Page)
        records = [record_of(msgspec.json.decode(item, type=Job)) for item in page.items]
        return Listed(records, page.next, page.scan_limited)

    async def newest(self, most: int) -> list[Id]:
        """As `Source`."""
        found: list[Id] = []
        query = {"fields": "id", "limit": str(min(most, _IDS))}
        while len(found) < most:
            page = (await self._peer.ask("GET", "/v1/jobs", query=query)).read(Page)
            found += [ids.from_text(msgspec.json.decode(item, type=str)) for item in page.items]
            if page.next is None:
                break
            query["cursor"] = page.next
        return found

    async def read(self, id: Id) -> tuple[Record, list[Reason]]:
        """As `Source`."""
        path = f"/v1/jobs/{ids.to_text(id)}"
        found = await self._peer.ask("GET", path, query={"include": "args,result,attempts,history"})
        why = await self._peer.ask("GET", f"{path}/explain")
        record, told = record_of(found.read(Job)), why.read(Explained)
        # A front of an older version gives no reasons.
        return record, told.reasons or [Reason(record.state.word, told.explain)]

    async def alter(self, found: Sequence[Id], kind: Kind, note: str = "") -> list[Altered]:
        """As `Source`; a request for each."""
        return [await self._alter(id, kind, note) for id in found]

    async def _alter(self, id: Id, kind: Kind, note: str) -> Altered:
        body = {"reason": note} if note else {}
        try:
            reply = await self._peer.ask("POST", f"/v1/jobs/{ids.to_text(id)}/{kind}", body=body)
        except JobNotFound:
            return Altered("missing")
        except Refused as refused:
            state = _STATES.get(refused.state or "")
            return Altered("conflict" if refused.code == "unique_conflict" else "refused", state)
        status = msgspec.convert(reply.fields.get("noria-change", "done"), Status)
        return Altered(status, _STATES[reply.fields.get("noria-state") or reply.read(Job).state])

    async def counts(self) -> Counts:
        """As `Source`."""
        queues = (await self._peer.ask("GET", "/v1/queues")).read(Page)
        workers = (await self._peer.ask("GET", "/v1/workers")).read(Page)
        return counts_of(
            [msgspec.json.decode(item, type=Queue) for item in queues.items],
            [msgspec.json.decode(item, type=Worker) for item in workers.items],
        )
