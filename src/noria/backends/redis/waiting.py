"""Changes of jobs that wait: edit and move."""

from __future__ import annotations

from msgspec import UNSET, structs

from noria.backends.redis.answers import Answer, Case
from noria.backends.redis.cards import read_card, write_card
from noria.backends.redis.heads import FOLLOWS, NEVER, Head
from noria.backends.units import millis
from noria.model.job import rank
from noria.model.state import EDITABLE, State, legal


def edit(case: Case) -> Answer:
    """Change the options of a job that waits."""
    if not _is_editable(case):
        return case.refused()
    change, head = case.change, case.head
    if change.priority is not UNSET:
        head = structs.replace(head, priority=change.priority)
    if change.expires is not UNSET:
        head = structs.replace(head, expires=NEVER if change.expires is None else millis(change.expires))
    due = head.due if change.run_at is UNSET else float(millis(change.run_at))
    head = due_at(head, due, case.now, moves=change.run_at is not UNSET)
    before, after = case.state, State(head.state)
    assert after is before or legal(before, "operator edit", after), "by the table of states"
    return case.done(case.write(head, new_body(case), wake=True))


def move(case: Case) -> Answer:
    """Have a job that waits do so in another queue."""
    if case.state not in EDITABLE:
        return case.refused()
    if case.head.queue == case.change.queue:
        return case.done()
    # Its place there follows from its time; the script knows the limits of that queue.
    place = float(rank(case.head.due / 1000, case.head.priority))
    return case.done(case.write(structs.replace(case.head, queue=case.change.queue, rank=place), wake=True))


def due_at(head: Head, due: float, now: int, *, moves: bool = True) -> Head:
    """The head with a time before which the job may not run, and its rank; `moves`: its state follows from it."""
    state = head.state
    if state == State.WAITING and head.kin & FOLLOWS:
        # When it has nobody to wait for any more, it is seen whether that has come.
        moves = False
    if moves and due <= now and state != State.WAITING:
        state = int(State.QUEUED)
    elif moves and state in (State.QUEUED, State.WAITING):
        state = int(State.SCHEDULED)
    return structs.replace(head, state=state, due=float(due), rank=float(rank(due / 1000, head.priority)))


def new_body(case: Case) -> dict[str, bytes | bool]:
    """What a change makes of the body and the card of a job."""
    change = case.change
    codec, extras = read_card(case.seen.card)
    if change.tags is not UNSET:
        extras = structs.replace(extras, tags=change.tags)
    if change.body is not None:
        return {"body": change.body, "card": write_card(change.codec, extras) or False}
    return {} if change.tags is UNSET else {"card": write_card(codec, extras) or False}


def _is_editable(case: Case) -> bool:
    change = case.change
    if case.state not in EDITABLE:
        return False
    if (change.body is not None and case.head.starts) or (change.expires is not UNSET and case.head.begun):
        return False
    return change.run_at is UNSET or case.state is not State.PARKED
