"""Rows 17 and 18: bulk operations are previewed, begun, looked at and cancelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from starlette.responses import Response

from noria import ids as job_ids
from noria.app import checks
from noria.app.options import JOB_CHECKS
from noria.backends.contract import Query
from noria.errors import Conflict, InvalidInput
from noria.front import bodies, limits, operation, replies
from noria.front.enqueue import check_queue
from noria.front.idempotency import Once, key_of, once
from noria.front.operation import Action, Held, Operation, Params, operation_view
from noria.front.paging import cursor, limit_of, place
from noria.front.problem import Part, Problem
from noria.front.query import narrowed, read_query
from noria.front.requests import Nothing
from noria.front.resources import job_resource
from noria.front.route import Ask
from noria.ids import Id, to_text
from noria.model.job import Record
from noria.model.state import State
from noria.model.wording import count

T = TypeVar("T")

_SAMPLES: Final = 20
_MARGIN: Final = 0.05
"""By how much a set may have grown since its preview."""
_MOST_EXPECTED: Final = 1_000_000_000
_TRIES: Final = 20


class Filter(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which jobs, each parameter as text: those of `GET /v1/jobs`."""

    state: str | UnsetType = UNSET
    task: str | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    worker: str | UnsetType = UNSET
    tag: str | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET
    fingerprint: str | UnsetType = UNSET
    dead: str | UnsetType = UNSET
    created_after: str | UnsetType = UNSET
    created_before: str | UnsetType = UNSET
    finished_after: str | UnsetType = UNSET
    finished_before: str | UnsetType = UNSET
    q: str | UnsetType = UNSET


class OperationWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be done to which jobs: those of `filter`, which is as the parameters of `GET /v1/jobs`, or `ids`.

    A filter that every job meets needs `all`. `preview` changes nothing, and tells what would be; `expected` is what a
    preview has told: then nothing is done if many more match by now. `uncounted`: more may match than were counted.
    """

    action: Action
    target: Literal["jobs"] = "jobs"
    filter: Filter | UnsetType = UNSET
    ids: list[str] | UnsetType = UNSET
    params: Params = Params()
    all: bool = False
    preview: bool = False
    expected: int | None = None
    uncounted: bool = False
    rate: float | None = None
    note: str = ""


class Chosen(Struct, frozen=True):
    """The jobs that were named and that the key may see: their ids, in order, each once, and what they are."""

    ids: list[Id] = []
    samples: list[Record] = []
    kin: Counter[tuple[str, State]] = msgspec.field(default_factory=Counter)


_wanted: Final = msgspec.json.Decoder(OperationWanted)
_nothing: Final = msgspec.json.Decoder(Nothing)


async def create(ask: Ask) -> Response:
    """`POST /v1/operations`."""
    bodies.check_media(ask.request, bodies.JSON)
    body = await bodies.read(ask.request, limits.BODY)
    wanted = bodies.decode(body, _wanted)
    made = await _checked(ask, wanted)
    chosen = await _chosen(ask, wanted)
    if wanted.preview:
        return replies.json(await _preview(ask, made, chosen))
    if wanted.expected is not None and not wanted.uncounted:
        await _check_count(ask, made, chosen, wanted.expected)
    key = key_of(ask.request, required=False)
    first = None if key is None else once(ask.who, "POST /v1/operations", key, msgspec.json.decode(body))
    await _check_room(ask, made, chosen)
    begun = await _begin(ask, made, chosen.ids, first)
    ask.desk.operator.begin(begun.id)
    headers = {"Location": f"{ask.root}/v1/operations/{begun.id}"}
    if begun.id != made.id:
        headers["Idempotent-Replayed"] = "true"
    return replies.json(operation_view(begun), 202, headers)


async def _checked(ask: Ask, wanted: OperationWanted) -> Operation:
    """The operation that a request asks for.

    Raises:
        Problem: it cannot be, and why.
    """
    if wanted.action == "delete" and not ask.who.may("admin"):
        raise Problem(
            "scope_missing", "the key lacks the scope 'admin', which deleting in bulk needs", scope="admin"
        )
    if (wanted.filter is UNSET) == (wanted.ids is UNSET):
        raise _wrong("/filter", "give either filter or ids")
    filter: dict[str, str] = {} if wanted.filter is UNSET else msgspec.to_builtins(wanted.filter)
    now = ask.desk.clock.wall()
    query = None if wanted.filter is UNSET else _read("/filter", lambda: read_query(filter, now))
    made = Operation(
        id=to_text(ask.desk.ids.next()), action=wanted.action, params=wanted.params, filter=filter, query=query,
        note=_read("", lambda: checks.text("note", wanted.note))[: limits.NOTE], by=ask.who.id,
        rate=_read("", lambda: _rate(wanted.rate)), created=now,
    )  # fmt: skip
    _check_params(wanted)
    if (priority := wanted.params.priority) is not UNSET:
        _read("/params", lambda: JOB_CHECKS["priority"]("priority", priority))
    reason = wanted.params.reason
    if reason is not UNSET:
        _read("/params", lambda: checks.text("reason", reason))
    if wanted.expected is not None and not 0 <= wanted.expected <= _MOST_EXPECTED:
        raise _wrong("/expected", f"expected is from 0 to {_MOST_EXPECTED:,}")
    _read("/params", made.change)
    if wanted.params.queue is not UNSET:
        check_queue(ask.who, wanted.params.queue)
    if query == Query() and not wanted.all:
        raise _wrong("/filter", "this filter is met by every job; say all: true if that is meant")
    return made if query is None else replace(made, query=narrowed(query, ask.who))


def _read(at: str, work: Callable[[], T]) -> T:
    """What `work` gives; what it refuses is told with a pointer below `at`."""
    try:
        return work()
    except InvalidInput as error:
        raise _wrong(f"{at}/{error.field}", str(error)) from None


def _check_params(wanted: OperationWanted) -> None:
    for action, field in (("move", "queue"), ("set_priority", "priority")):
        if wanted.action == action and getattr(wanted.params, field) is UNSET:
            raise _wrong(f"/params/{field}", f"{action} needs a {field}")


def _rate(wanted: float | None) -> float | None:
    if wanted is not None and not (checks.is_number(wanted) and 0.1 <= wanted <= 1e6):
        raise InvalidInput("rate is from 0.1 to 1,000,000 jobs a second", field="rate")
    return wanted


def _wrong(pointer: str, message: str) -> Problem:
    return Problem("invalid_value", message, errors=[Part(pointer, message)])


async def _chosen(ask: Ask, wanted: OperationWanted) -> Chosen:
    """The jobs that were named."""
    found = Chosen()
    if wanted.ids is UNSET:
        return found
    if not wanted.ids:
        raise _wrong("/ids", "ids names at least one job")
    if len(wanted.ids) > limits.OPERATION_IDS:
        raise _wrong("/ids", f"at most {limits.OPERATION_IDS:,} ids can be given; use a filter")
    try:
        named = list(dict.fromkeys(map(job_ids.from_text, wanted.ids)))
    except InvalidInput as error:
        raise _wrong("/ids", str(error)) from None
    for start in range(0, len(named), operation.CHUNK):
        for each in await ask.desk.backend.get(named[start : start + operation.CHUNK]):
            if each is not None and ask.who.sees(each.queue, each.task):
                found.ids.append(each.id)
                found.kin[each.task, each.state] += 1
                if len(found.samples) < _SAMPLES:
                    found.samples.append(each)
    return found


# ---- previews


async def _preview(ask: Ask, made: Operation, chosen: Chosen) -> dict[str, Any]:
    """How many jobs it would meet, of which kinds, and some of them. `capped`: more than were counted."""
    if made.query is None:
        n, capped, samples = len(chosen.ids), False, chosen.samples
        kin = sorted((task, state, n) for (task, state), n in chosen.kin.items())
    else:
        found = await ask.desk.backend.tally(made.query, limits.COUNT)
        n, capped = found.n, found.capped or found.scan_limited
        kin = [(each.task, each.state, each.n) for each in found.kin]
        samples = (await ask.desk.backend.find(made.query, None, _SAMPLES)).records
    return {
        "count": n,
        "expected": n,
        "capped": capped,
        "by": [{"task": task, "state": state.word, "count": n} for task, state, n in kin],
        "samples": list(map(job_resource, samples)),
    }


async def _check_count(ask: Ask, made: Operation, chosen: Chosen, expected: int) -> None:
    """See that no more jobs match than may.

    Raises:
        Problem: more do, or nobody can tell.
    """
    most = expected + int(expected * _MARGIN)
    if made.query is None:
        found, unsure = len(chosen.ids), False
    else:
        tallied = await ask.desk.backend.tally(made.query, max(most + 1, limits.COUNT))
        found, unsure = tallied.n, tallied.capped or tallied.scan_limited
    if found > most or unsure:
        at_least = "at least " if unsure else ""
        raise Problem(
            "count_changed",
            f"now there are {at_least}{count(found, 'job')}, and {expected:,} were expected; look again, or say "
            "uncounted: true if more may be met than were counted",
            count=found,
        )


async def _check_room(ask: Ask, made: Operation, chosen: Chosen) -> None:
    """See that the jobs that are to be moved have room where they go.

    Raises:
        Problem: more of them would wait there than this key may have.
    """
    queue, depth = made.params.queue, ask.who.depth
    if queue is UNSET or depth is None:
        return
    moved = len(chosen.ids) if made.query is None else (await ask.desk.backend.tally(made.query, depth + 1)).n
    async with ask.desk.intake.admit(ask.who, queue, moved):
        pass


# ---- begun, looked at, cancelled


async def _begin(ask: Ask, made: Operation, chosen: list[Id], first: Once | None) -> Operation:
    """Store an operation; or find the one that the same request has stored before."""
    if made.query is None and not chosen:
        made = replace(made, state="running")
    docs = operation.creation(made, chosen)
    try:
        await ask.desk.backend.write([*docs, *([first.claim(job_ids.from_text(made.id))] if first else [])])
    except Conflict:
        before = await first.first(ask.desk.backend) if first else None
        found = None if before is None else await operation.read(ask.desk.backend, to_text(before))
        if found is None:
            raise
        return found.operation
    found = await operation.read(ask.desk.backend, made.id)
    return made if found is None else found.operation


async def show(ask: Ask) -> Response:
    """`GET /v1/operations`, newest first."""
    params = ask.request.query_params
    limit = limit_of(params.get("limit"), limits.PAGE, limits.USUAL_PAGE)
    after = place(params.get("cursor"), "operations", None)
    docs = await ask.desk.backend.scan(
        operation.KIND, None if after is None else after.decode("ascii", "replace"), limit
    )
    seen = [held.operation for doc in docs if _is_seen(held := operation.held(doc), ask)]
    following = cursor(docs[-1].name.encode(), "operations") if len(docs) == limit else None
    return replies.page(list(map(operation_view, seen)), following)


async def one(ask: Ask) -> Response:
    """`GET /v1/operations/{id}`."""
    return replies.json(operation_view((await _find(ask)).operation))


async def cancel(ask: Ask) -> Response:
    """`POST /v1/operations/{id}/cancel`: it stops after the jobs that it is about to change."""
    await bodies.read_optional(ask.request, _nothing)
    for _ in range(_TRIES):
        found = await _find(ask)
        if found.operation.ended:
            return replies.json(operation_view(found.operation))
        stopped = replace(found.operation, state="cancelled", finished=ask.desk.clock.wall())
        try:
            await operation.update(ask.desk.backend, found, stopped)
        except Conflict:
            continue  # it has taken a step meanwhile
    raise Problem("backend_down", "the operation changes with every look at it; ask again", retry_after=1)


async def _find(ask: Ask) -> Held:
    try:
        id = to_text(job_ids.from_text(ask.path["id"]))
        found = await operation.read(ask.desk.backend, id)
    except InvalidInput:
        found = None
    if found is None or not _is_seen(found, ask):
        raise Problem("operation_unknown", f"there is no operation {ask.path['id'][:64]!r}")
    return found


def _is_seen(found: Held, ask: Ask) -> bool:
    """A key with limits sees only its own operations."""
    return not ask.who.limited or found.operation.by == ask.who.id
