"""Row 2: many jobs in one request. Each item stands for itself, and has its own answer."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, field
from starlette.responses import Response

from noria.backends.contract import DocWrite
from noria.errors import BackendError, Conflict, NoriaError
from noria.front import bodies, limits, replies
from noria.front.enqueue import Order, order_of
from noria.front.idempotency import Once, check_key, once
from noria.front.intake import Ticket
from noria.front.problem import Problem, problem_of
from noria.front.requests import ItemWanted
from noria.front.route import Ask
from noria.front.submit import STANDS, accept, seen_by, taken, uncertain
from noria.ids import Id, to_text
from noria.model.claim import NEW
from noria.model.job import Receipt

_items: Final = msgspec.json.Decoder(list[Raw])
_item: Final = msgspec.json.Decoder(ItemWanted)

Answer = dict[str, Any]


class _Item(Struct):
    """One item that could be read."""

    index: int
    order: Order
    once: Once | None
    ticket: Ticket = field(default_factory=Ticket)


async def create(ask: Ask) -> Response:
    """`POST /v1/jobs/batch`: a JSON array, or a JSON text a line."""
    media = bodies.check_media(ask.request, bodies.JSON, bodies.LINES)
    body = await bodies.read(ask.request, limits.BATCH_BODY)
    texts = (
        _lines(body)
        if media == bodies.LINES
        else [bytes(raw) for raw in bodies.decode(body, _items, parts=True)]
    )
    if len(texts) > limits.BATCH:
        raise Problem(
            "too_large", f"a batch has at most {limits.BATCH:,} items, not {len(texts):,}", limit=limits.BATCH
        )
    answers: list[Answer] = [{}] * len(texts)
    read = [
        item
        for index, text in enumerate(texts)
        if (item := await _read(ask, index, text, answers)) is not None
    ]
    await _enqueue(ask, read, answers)
    return replies.json({"items": answers})


def _lines(body: bytes) -> list[bytes]:
    return [line for line in body.split(b"\n") if line.strip()]


async def _read(ask: Ask, index: int, text: bytes, answers: list[Answer]) -> _Item | None:
    """An item, with its arguments checked; None if that was not possible, which is its answer then."""
    try:
        if len(text) > limits.BODY:
            raise Problem("too_large", f"the item is larger than {limits.BODY:,} bytes", limit=limits.BODY)
        wanted = bodies.decode(text, _item)
        order = await order_of(ask.desk, ask.who, wanted)
        key = None if wanted.idempotency_key is UNSET else check_key(wanted.idempotency_key)
        if key is None and ask.desk.settings.require_idempotency:
            raise Problem(
                "idempotency_required", "give the item an idempotency_key, so that it can be repeated"
            )
    except (Problem, NoriaError) as error:
        answers[index] = _refused(index, error)
        return None
    first = None if key is None else once(ask.who, "POST /v1/jobs/batch", key, _without_key(text))
    return _Item(index, order, first)


def _without_key(text: bytes) -> Any:
    body = msgspec.json.decode(text)
    body.pop("idempotency_key", None)
    return body


async def _enqueue(ask: Ask, items: list[_Item], answers: list[Answer]) -> None:
    """Enqueue items: those without a key in one step, as are those with one, unless a key was used before."""
    plain = [item for item in items if item.once is None]
    keyed = [item for item in items if item.once is not None]
    for group in (plain, keyed):
        async with AsyncExitStack() as stack:
            fitting = [item for item in group if await _admitted(ask, item, stack, answers)]
            if fitting and not await _together(ask, fitting, answers):
                for item in fitting:
                    item.ticket.stored = 0
        for item in group:
            if not answers[item.index]:
                answers[item.index] = await _alone(ask, item)


async def _admitted(ask: Ask, item: _Item, stack: AsyncExitStack, answers: list[Answer]) -> bool:
    """Whether there is room for an item, those before it included; one with a key may have come in before."""
    try:
        item.ticket = await stack.enter_async_context(ask.desk.intake.admit(ask.who, item.order.job.queue))
    except (Problem, NoriaError) as error:
        if item.once is None:
            answers[item.index] = _refused(item.index, error)
        return False
    return True


async def _together(ask: Ask, items: list[_Item], answers: list[Answer]) -> bool:
    """Whether it is known now what became of them: they were pushed in one step, or nobody knows."""
    docs = [item.once.claim(item.order.job.id) for item in items if item.once is not None]
    if len({doc.name for doc in docs}) < len(docs):
        return False
    try:
        receipts = await ask.desk.backend.push([item.order.job for item in items], docs)
    except Conflict:
        return False
    except BackendError as error:
        for item in items:
            answers[item.index] = _refused(item.index, uncertain(error, safe=item.once is not None))
        return True
    if docs and any(receipt.status == "rejected" for receipt in receipts):
        return False  # then nothing of them was stored
    seen = await _seen(ask, receipts)
    amends = [
        doc for item, receipt in zip(items, receipts, strict=True) for doc in _amends(item, receipt, seen)
    ]
    if amends:
        await ask.desk.backend.write(amends)
    for item, receipt in zip(items, receipts, strict=True):
        item.ticket.stored = int(receipt.status in NEW)
        answers[item.index] = _answered(item, receipt, seen)
    return True


async def _seen(ask: Ask, receipts: list[Receipt]) -> set[Id]:
    """The jobs that stand for others and that this key may see."""
    holders = [receipt.id for receipt in receipts if _is_held(receipt)]
    return {id for id, seen in zip(holders, await seen_by(ask.desk, ask.who, holders), strict=True) if seen}


def _is_held(receipt: Receipt) -> bool:
    return receipt.status in STANDS and receipt.why == "unique"


def _amends(item: _Item, receipt: Receipt, seen: set[Id]) -> list[DocWrite]:
    """What is to be written about the key of an item that another job stands for."""
    if item.once is None or not _is_held(receipt):
        return []
    refused = item.order.reject or receipt.id not in seen
    return [item.once.release() if refused else item.once.amend(receipt.id)]


def _answered(item: _Item, receipt: Receipt, seen: set[Id]) -> Answer:
    id = to_text(receipt.id)
    if receipt.status == "rejected":
        full = Problem("queue_full", receipt.why, retry_after=1)
        return _refused(item.index, full if receipt.full else Problem("invalid_value", receipt.why))
    if not _is_held(receipt):
        word = receipt.status if receipt.status in NEW else "created"
        return {"index": item.index, "status": 202, "job_id": id, "enqueued": word}
    if item.order.reject or receipt.id not in seen:
        return _refused(item.index, taken(receipt.id if receipt.id in seen else None))
    return {"index": item.index, "status": 200, "job_id": id, "existing": True, "enqueued": receipt.status}


async def _alone(ask: Ask, item: _Item) -> Answer:
    try:
        found = await accept(ask.desk, ask.who, item.order, item.once)
    except (Problem, NoriaError) as error:
        return _refused(item.index, error)
    answer: Answer = {"index": item.index, "status": 202, "job_id": to_text(found.record.id)}
    if found.how == "replayed":
        return {**answer, "replayed": True}
    if found.stands:
        answer |= {"status": 200, "existing": True}
    return {**answer, "enqueued": found.how}


def _refused(index: int, error: Problem | NoriaError) -> Answer:
    problem = error if isinstance(error, Problem) else problem_of(error)
    details = {"code": problem.code, "title": problem.title, "detail": problem.detail}
    errors = {"errors": problem.errors} if problem.errors else {}
    return {"index": index, "status": problem.status, "error": {**details, **errors, **problem.members}}
