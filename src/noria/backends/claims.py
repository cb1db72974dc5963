"""What becomes of a job that finds its unique key taken: a decision, without I/O."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from noria.backends.units import millis, millis_or_none
from noria.ids import Id, to_text
from noria.model.claim import Claim
from noria.model.job import NewJob, Receipt
from noria.model.outcome import Failure
from noria.model.state import EDITABLE, State

_UPDATED, _MERGED = "updated ", "merged "
_arguments: Final = msgspec.json.Decoder(dict[str, Raw])
_list: Final = msgspec.json.Decoder(list[Raw])


class Holder(Struct):
    """A job that holds a key, as far as one that finds it taken has to know. Times are in milliseconds.

    Attributes:
        body: the encoded arguments.
        place: where it is among the jobs of the call that is being decided; None if it is stored.
    """

    id: Id
    state: int
    starts: int
    queue: str
    due: int
    created: int
    expires: int | None
    deadline: int | None
    codec: str
    body: bytes
    place: int | None = None

    @property
    def waits(self) -> bool:
        """Whether it may be taken from its queue."""
        return self.state in EDITABLE

    @property
    def untouched(self) -> bool:
        """Whether nobody has seen its arguments yet."""
        return self.waits and self.starts == 0


def meet(job: NewJob, holder: Holder, now: int, max_body: int) -> Receipt:
    """Decide about a job whose key another one holds; what that one gets is written into `holder`.

    Returns:
        what the job's producer is told. "replaced": the job is to be stored, and the holder cancelled. "created": the
        job is to be stored, and the holder gives up its key.
    """
    claim = job.claim
    stands = Receipt("existing", holder.id, "unique")
    if claim is None or not claim.changes or (claim.same_queue and holder.queue != job.queue):
        return stands
    if claim.on_conflict == "replace":
        return Receipt("replaced", job.id, holder.id.hex()) if holder.waits else stands
    if not holder.untouched:
        return stands
    return (
        _update(job, claim, holder, now)
        if claim.on_conflict == "keep_last"
        else _merge(job, claim, holder, max_body)
    )


def _update(job: NewJob, claim: Claim, holder: Holder, now: int) -> Receipt:
    """Give a job that waits the arguments and times of a later one."""
    due = now + max(0, millis(job.delay)) if job.at is None else millis(job.at)
    if claim.at_most is not None:
        due = min(due, holder.created + millis(claim.at_most))
    if due > now or holder.due > now:  # else it keeps the place that it has
        holder.due = due
        # What waits for other jobs goes on doing so; then it is seen whether its time has come.
        if holder.state != State.WAITING:
            holder.state = int(State.SCHEDULED if due > now else State.QUEUED)
    holder.body, holder.codec = job.body, job.codec
    holder.expires, holder.deadline = millis_or_none(job.expires), millis_or_none(job.deadline)
    return Receipt("updated", holder.id, "unique")


def _merge(job: NewJob, claim: Claim, holder: Holder, max_body: int) -> Receipt:
    """Append the items of a job's list to that of one that waits, if there is room."""
    theirs, ours = _lists(holder.body, holder.codec, claim), _lists(job.body, job.codec, claim)
    if theirs is None or ours is None:
        whose = (
            f"of job {to_text(holder.id)}, which waits with its unique key," if theirs is None else "of it"
        )
        why = f"it cannot be merged: the argument {claim.argument!r:.60} {whose} is no list"
        return Receipt("rejected", job.id, why)
    (arguments, items), (_, more) = theirs, ours
    body = msgspec.json.encode({**arguments, claim.argument: items + more})
    if len(items) + len(more) > claim.max_items or len(body) > max_body:
        return Receipt("created", job.id)
    holder.body = body
    return Receipt("merged", holder.id, "unique")


def _lists(body: bytes, codec: str, claim: Claim) -> tuple[dict[str, Raw], list[Raw]] | None:
    """The arguments of a job, and the items of the one that is a list; None if it is none."""
    if codec != "json":
        return None
    try:
        arguments = _arguments.decode(body)
        return arguments, _list.decode(arguments[claim.argument])
    except (msgspec.DecodeError, KeyError):
        return None


def replaced_by(id: Id) -> Failure:
    """Why a job was cancelled for which a later one with its unique key was stored."""
    return Failure.of("cancelled", f"replaced by job {to_text(id)}, which has the same unique key")


def trace_of(receipt: Receipt) -> str:
    """What is remembered of a job that was added to another one, so that its push can be repeated."""
    return (_MERGED if receipt.status == "merged" else _UPDATED) + receipt.id.hex()


def read_trace(id: Id, trace: str) -> Receipt:
    """What the producer of a stored job is told again; `trace` is empty unless it was added to another one."""
    for word, prefix in (("updated", _UPDATED), ("merged", _MERGED)):
        if trace.startswith(prefix):
            holder = Id(bytes.fromhex(trace.removeprefix(prefix)))
            return Receipt("merged" if word == "merged" else "updated", holder, "unique")
    return Receipt("existing", id, "id")
