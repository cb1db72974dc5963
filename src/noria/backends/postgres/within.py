"""Enqueueing inside a caller's transaction: on its own connection, by its own driver, undone and committed with it.

What is run is what a push of ours runs. That code does not know of coroutines, so it is run in a thread, which asks the
caller's loop, or a connection without one, for each answer. The caller waits meanwhile, so that nobody else uses the
connection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.rows import tuple_row

from noria import aio
from noria.backends.postgres.channels import pack
from noria.backends.postgres.inserting import insert
from noria.backends.postgres.patterns import Patterns
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement
from noria.backends.postgres.transaction import whole
from noria.backends.sql import heirs, transaction
from noria.backends.sql.drafts import Drafts
from noria.backends.sql.outlines import notes_of
from noria.backends.sql.push import Push, Pushes
from noria.backends.sql.rows import encode
from noria.backends.units import millis
from noria.errors import InvalidInput, NoriaError, Unavailable
from noria.model.job import NewJob, Receipt
from noria.model.limits import MAX_BATCH

Execute = Callable[[str, Sequence[Any]], Sequence[Any] | None]
"""Runs a statement with its values; gives the first row, if there is one."""

SENDER = "0"
"""Who sends hints that no process of ours has sent: all hear them."""


class CallersTransaction(transaction.Transaction):
    """A transaction that somebody else begins and ends."""

    patterns = Patterns()
    looks_first = False

    def __init__(self, execute: Execute, settings: Settings, now: int) -> None:
        super().__init__(settings, now)
        self._execute = execute
        self._namespace = settings.namespace

    def row_or_none(self, name: str, *values: Any) -> Sequence[Any] | None:
        return self._execute(_text(name, self._namespace), values)

    def run(self, name: str, *values: Any) -> None:
        for each, given in whole(name, values):
            self.row_or_none(each, *given)

    def changes(self, name: str, *values: Any) -> int:
        raise NotImplementedError("a push asks for no number of rows")

    def insert(self, drafts: Drafts) -> None:
        insert(self, drafts)

    def hold_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        self.run("claim_lock", encode(keys))


async def push_within(conn: object, jobs: Sequence[NewJob], settings: Settings) -> list[Receipt]:
    """Store jobs in the transaction of a connection.

    Raises:
        InvalidInput: it is no connection that we know, or it is in no transaction.
        Unavailable: a statement failed, and with it the transaction.
    """
    _check_after(jobs)
    execute = _executor(conn, asyncio.get_running_loop(), settings.timeout)
    try:
        async with aio.bounded(settings.timeout):
            return await asyncio.to_thread(_push, execute, jobs, settings)
    except TimeoutError as error:
        raise Unavailable(
            f"{settings.store}: the caller's transaction gave no answer within {settings.timeout:g} seconds: undo it"
        ) from error


def _check_after(jobs: Sequence[NewJob]) -> None:
    """Refuse to have jobs waited for that others see: they could not end before the caller's transaction does."""
    before: set[str] = set()
    for job in jobs:
        if not before.issuperset(job.extras.after):
            raise InvalidInput(
                "in a transaction of yours a job can only wait for jobs that are enqueued before it in the same call: "
                "enqueue it after the commit, without conn",
                field="after",
            )
        before.add(job.id.hex())


def _push(execute: Execute, jobs: Sequence[NewJob], settings: Settings) -> list[Receipt]:
    try:
        work = CallersTransaction(execute, settings, _now(execute, settings))
        pushes = Pushes([Push(jobs)])
        pushes.prepare(settings, work.now)
        (receipts,) = pushes.run(work)
        if work.ended_parents:
            heirs.pass_on(work, MAX_BATCH)
        work.groups.postpone(work, jobs)
        work.write_counts()
        if rows := pack(settings.namespace, SENDER, notes_of(work)):
            work.run("notify_within", rows)
    except NoriaError:
        raise
    except Exception as error:
        raise Unavailable(
            f"{settings.store}: a statement in the caller's transaction failed: {error}"
        ) from error
    assert not isinstance(receipts, Exception), "no documents go along, so nothing conflicts"
    return receipts


def _now(execute: Execute, settings: Settings) -> int:
    found = execute(_text("server_time", settings.namespace), ())
    assert found is not None, "it always returns one row"
    return int(found[0]) if settings.wall is None else millis(settings.wall())


def _text(name: str, namespace: str) -> str:
    """A statement whose JSON goes as text: a caller may have told the driver to make JSON of what it is given."""
    return re.sub(r"(\$\d+)::jsonb", r"\1::text::jsonb", statement(name, namespace).decode())


def _executor(conn: object, loop: asyncio.AbstractEventLoop, seconds: float) -> Execute:
    """How statements are run on a connection of one of the drivers."""
    if isinstance(conn, psycopg.Connection):
        return _in_transaction(_on_psycopg(conn), conn)
    if isinstance(conn, psycopg.AsyncConnection):
        return _in_transaction(_awaited(_on_async_psycopg(conn, seconds), loop, seconds), conn)
    # Known by what it can do: the driver is not one of ours, and need not be installed; a pool lends no class of it.
    if callable(getattr(conn, "fetchrow", None)) and callable(getattr(conn, "is_in_transaction", None)):
        if not conn.is_in_transaction():  # type: ignore[attr-defined]  # just looked for
            raise _no_transaction()
        return _awaited(_on_asyncpg(conn, seconds), loop, seconds)
    raise InvalidInput(
        f"a {type(conn).__name__} is no connection that jobs can be enqueued on: pass one of psycopg 3 or asyncpg",
        field="conn",
    )


def _on_psycopg(conn: psycopg.Connection[Any]) -> Execute:
    def execute(text: str, values: Sequence[Any]) -> Sequence[Any] | None:
        with psycopg.RawCursor(conn, row_factory=tuple_row) as cursor:
            cursor.execute(text.encode(), values)
            try:
                return cursor.fetchone()
            except psycopg.ProgrammingError as error:
                _rowless(error)
                return None

    return execute


def _rowless(error: psycopg.ProgrammingError) -> None:
    """In a pipeline only a try tells whether a statement has rows; what the server refused has a code."""
    if error.sqlstate is not None:
        raise error


def _on_async_psycopg(
    conn: psycopg.AsyncConnection[Any], seconds: float
) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def execute(text: str, values: Sequence[Any]) -> Sequence[Any] | None:
        async with aio.bounded(seconds), psycopg.AsyncRawCursor(conn, row_factory=tuple_row) as cursor:
            await cursor.execute(text.encode(), values)
            try:
                return await cursor.fetchone()
            except psycopg.ProgrammingError as error:
                _rowless(error)
                return None

    return execute


def _on_asyncpg(conn: Any, seconds: float) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def execute(text: str, values: Sequence[Any]) -> Sequence[Any] | None:
        async with aio.bounded(seconds):
            found: Sequence[Any] | None = await conn.fetchrow(text, *values)
        return found

    return execute


def _awaited(
    execute: Callable[..., Coroutine[Any, Any, Any]], loop: asyncio.AbstractEventLoop, seconds: float
) -> Execute:
    def wait(text: str, values: Sequence[Any]) -> Sequence[Any] | None:
        found: Sequence[Any] | None = asyncio.run_coroutine_threadsafe(execute(text, values), loop).result(
            seconds
        )
        return found

    return wait


def _in_transaction(
    execute: Execute, conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
) -> Execute:
    """Refuse a connection in no transaction.

    Without autocommit the driver itself begins one with the first statement. In a pipeline it shows only when an
    answer has come, and the first that we ask for changes nothing.
    """

    def check() -> None:
        if conn.autocommit and conn.info.transaction_status != pq.TransactionStatus.INTRANS:
            raise _no_transaction()

    def checked(text: str, values: Sequence[Any]) -> Sequence[Any] | None:
        found = execute(text, values)
        check()
        return found

    if conn.pgconn.pipeline_status == pq.PipelineStatus.OFF:
        check()
        return execute
    return checked


def _no_transaction() -> InvalidInput:
    return InvalidInput(
        "the connection is in no transaction: begin one, with `async with conn.transaction():`, and enqueue inside",
        field="conn",
    )
