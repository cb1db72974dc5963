"""Jobs that are given the values of those that they have waited for: read when they are leased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from noria.backends.contract import Batch, Parts
from noria.ids import Id, to_text
from noria.model.job import Lease, Record
from noria.model.limits import MAX_BODY
from noria.model.state import State
from noria.model.wording import count

_PORTION: Final = 8
"""Records that are read at once: each value may have a mebibyte."""


class Ledger(Protocol):
    """The part of a backend that reads records."""

    async def get(self, ids: Sequence[Id], parts: Parts = Parts.NONE) -> list[Record | None]:
        """As `Ledger.get`."""
        ...


class Gone(Exception):
    """A value cannot be given; says why."""


async def fed(ledger: object, batch: Batch) -> Batch:
    """The batch, with the values put into the arguments of those jobs that are to have some.

    Args:
        ledger: a `Ledger`; asked only if there are such jobs.

    Raises:
        BackendError: the values cannot be read now.
    """
    if not any(lease.extras.feed for lease in batch.leases):
        return batch
    leases = [await _fed(ledger, lease) if lease.extras.feed else lease for lease in batch.leases]  # type: ignore[arg-type]  # a backend is one
    return replace(batch, leases=leases)


async def _fed(ledger: Ledger, lease: Lease) -> Lease:
    extras = lease.extras
    try:
        values = await _values(ledger, [Id(bytes.fromhex(each)) for each in extras.after])
        arguments = msgspec.json.decode(lease.body, type=dict[str, Raw])
    except (Gone, ValueError) as error:
        return replace(lease, flaw=str(error))
    value = b"[" + b",".join(values) + b"]" if extras.feed_list else values[0]
    return replace(lease, body=msgspec.json.encode({**arguments, extras.feed: Raw(value)}))


async def _values(ledger: Ledger, ids: Sequence[Id]) -> list[bytes]:
    """The values of jobs as JSON, in order; null of those that did not succeed."""
    values: list[bytes] = []
    size = 0
    for start in range(0, len(ids), _PORTION):
        portion = ids[start : start + _PORTION]
        for id, record in zip(portion, await ledger.get(portion, Parts.RESULT), strict=True):
            values.append(_value(id, record))
            size += len(values[-1])
        if size > MAX_BODY:
            raise Gone(
                f"the values of {count(len(ids), 'job')} that it has waited for have more than {MAX_BODY:,} bytes, "
                "the limit for arguments: let them return less, or store what they make elsewhere"
            )
    return values


def _value(id: Id, record: Record | None) -> bytes:
    if record is not None and record.state.final and record.state is not State.SUCCEEDED:
        return b"null"
    if record is None or record.result is None:
        raise Gone(f"the value of job {to_text(id)}, which it has waited for, is no longer kept")
    if record.result_codec != "json":
        raise Gone(f"the value of job {to_text(id)}, which it has waited for, is no JSON")
    return record.result
