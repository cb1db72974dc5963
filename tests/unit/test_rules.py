"""Rules in a store that cannot be read: they limit nothing, stop nobody, and the next declaration puts them right."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

import msgspec
import pytest

from noria import Noria
from noria.backends.rules import read_need
from noria.model.groups import Need, Rule
from noria.worker import Exit

BAD = {"families": "rule", "resources": "need"}


def application(path: Path, *, declares: bool) -> Noria:
    """Two tasks, of which one is bound by the family and the resource, whoever declares these."""
    app = Noria(f"sqlite:///{path}?synchronous=normal")
    if declares:
        app.group("host", limit=2)
        app.resource("tunnel", capacity=3)

    @app.task
    async def plain() -> int:
        return 1

    if declares:

        @app.task(group=("host", "host"), needs=("tunnel",))
        async def fetch(host: str) -> str:
            return host

    return app


def spoil(path: Path) -> None:
    """Write what no version of ours writes."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for table, column in BAD.items():
            changed = connection.execute(f'UPDATE {table} SET {column} = \'{{"limit":1.5,"capacity":true}}\'')
            assert changed.rowcount == 1


def rule_of(path: Path) -> bytes:
    """The rule that the store has."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT rule FROM families").fetchone()
    return str(text).encode()


async def test_a_worker_lives_with_rules_that_it_cannot_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "noria.db"
    async with application(path, declares=True) as app:
        jobs = await app.enqueue_many(app.find_task("fetch").job(host) for host in "aab")
    spoil(path)
    caplog.set_level(logging.ERROR, "noria.backends")

    async with application(path, declares=False) as app:
        free = await app.find_task("plain").enqueue()
        other = await app.worker(burst=True).run()
        last = (await free.status()).state
    spoiled = [record.getMessage() for record in caplog.records if "family 'host'" in record.getMessage()]
    async with application(path, declares=True) as app:
        right = await app.worker(burst=True).run()
        states = [(await app.job(job.id).status()).state for job in jobs]

    assert (other, last, len(spoiled)) == (Exit.CLEAN, "succeeded", 1)
    assert (right, states) == (Exit.CLEAN, ["succeeded"] * 3)
    assert msgspec.json.decode(rule_of(path), type=Rule) == Rule(limit=2)


def test_a_need_that_cannot_be_read_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert read_need("tunnel", '{"type":"need","name":"tunnel","capacity":true}') == Need("tunnel")
    assert "resource 'tunnel'" in caplog.text
