"""Tasks whose jobs may not run whenever they like: groups of one, lines, rates and tunnels.

Each run writes down its beginning and its end itself, in a file of its process and through none of Noria's code, with
the place that it must have had: what `places` judges.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from noria import Backoff, Context, Noria
from tests.faults.shop import Diary

CAPACITY: Final = 4
"""Tokens of the resource "tunnel"."""
RATE: Final = 10
"""Starts a second of the task "paced", and of each group of "account"."""
BURST: Final = 5
"""Starts at once of a group of "account" that has rested."""
_FAILS: Final = 13
"""One in so many jobs of a line goes wrong once."""


class Book:
    """Where the runs of one process are written down: each line a word, a time, whose start it is, and its place."""

    def __init__(self, diary: Diary) -> None:
        folder = diary.folder / "places"
        folder.mkdir(exist_ok=True)
        self._diary = diary
        path = folder / f"{diary.recorder.proc}.txt"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    @contextmanager
    def place(self, ctx: Context, place: str, n: int) -> Iterator[None]:
        """The time for which a run has a place, such as "single/3"; `n` is the number of its job there."""
        with self._diary.run(ctx):
            self._tell("begin", ctx, place, n)
            try:
                yield
            finally:
                self._tell("end", ctx, place, n)

    def _tell(self, word: str, ctx: Context, place: str, n: int) -> None:
        id = ctx.job_id.replace("-", "")
        os.write(self._file, f"{word} {time.monotonic()!r} {id} {ctx.starts} {place} {n}\n".encode())


def declare(app: Noria, diary: Diary) -> None:
    """Declare families, a resource, and the tasks that use them."""
    book = Book(diary)
    _groups(app, book)
    _rates(app, book)


def _groups(app: Noria, book: Book) -> None:
    app.group("single", limit=1)
    app.group("line", ordered=True)
    app.resource("tunnel", capacity=CAPACITY)

    @app.task(crashes=1_000, group=("single", "key"))
    async def alone(ctx: Context, key: str, n: int, seconds: float) -> int:
        with book.place(ctx, f"single/{key}", n):
            await asyncio.sleep(seconds)
            return n

    @app.task(crashes=1_000, group=("line", "key"), retry=Backoff(base=0.05, cap=0.05))
    async def in_line(ctx: Context, key: str, n: int, seconds: float) -> int:
        with book.place(ctx, f"line/{key}", n):
            await asyncio.sleep(seconds)
            if n % _FAILS == 0 and ctx.attempt == 1:
                raise ValueError(n)
            return n

    @app.task(crashes=1_000, needs=("tunnel",))
    async def through(ctx: Context, n: int, seconds: float) -> int:
        with book.place(ctx, "tunnel/", n):
            await asyncio.sleep(seconds)
            return n


def _rates(app: Noria, book: Book) -> None:
    app.group("account", rate=f"{RATE}/s", burst=BURST)

    @app.task(crashes=1_000, rate=f"{RATE}/s")
    async def paced(ctx: Context, n: int) -> int:
        with book.place(ctx, "paced/", n):
            return n

    @app.task(crashes=1_000, group=("account", "key"))
    async def posted(ctx: Context, key: str, n: int) -> int:
        with book.place(ctx, f"account/{key}", n):
            return n
