"""Many jobs of one task from lines of JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import msgspec

from noria.app.application import Noria
from noria.app.job import Draft
from noria.app.task import Enqueuer
from noria.cli.arguments import decoded, split
from noria.cli.exits import ExitCode, Stop
from noria.cli.output import Output
from noria.cli.quantities import count
from noria.cli.target import answer, opened
from noria.errors import InvalidInput
from noria.model.limits import MAX_BATCH

SHOWN: Final = 20
"""Refused lines that are told one by one."""
_LONGEST: Final = 4 * 1024 * 1024


@dataclass(slots=True)
class Tally:
    """What became of the lines so far."""

    enqueued: int = 0
    existing: int = 0
    refused: int = 0

    def __str__(self) -> str:
        parts = [f"{count(self.enqueued, 'job')} enqueued"]
        if self.existing:
            parts.append(f"{self.existing:,} stood for by live jobs")
        if self.refused:
            parts.append(f"{self.refused:,} lines refused")
        return ", ".join(parts)


async def enqueue_lines(
    app: Noria, enqueuer: Enqueuer[..., Any], source: BinaryIO, out: Output, seconds: float
) -> None:
    """Enqueue a job for each line, a thousand at a time; print the ids, and a summary on stderr.

    A line that is no JSON, or does not fit the task, is told and left out; the others are enqueued.

    Raises:
        Stop: some lines were refused.
        BackendError: the backend failed; what was told before is stored.
    """
    tally = Tally()
    lines = _numbered(source)
    async with opened(app, seconds):
        with out.progress("enqueue", _total(source)) as advance:
            while drafts := _next(lines, enqueuer, tally, out):
                jobs = await answer(app.enqueue_many(drafts), seconds)
                for job in jobs:
                    tally.enqueued += job.created
                    tally.existing += not job.created
                    _print(out, job.id, created=job.created)
                advance(len(jobs))
    out.note(str(tally))
    if tally.refused:
        raise Stop(ExitCode.FAILED)


def _print(out: Output, id: str, *, created: bool) -> None:
    if out.json:
        out.record({"id": id, "created": created})
    else:
        out.line(id)


def _numbered(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := source.readline(_LONGEST):
        number += 1
        if line.strip():
            yield number, line


def _next(
    lines: Iterator[tuple[int, bytes]], enqueuer: Enqueuer[..., Any], tally: Tally, out: Output
) -> list[Draft[Any]]:
    """The next thousand jobs; fewer at the end."""
    drafts: list[Draft[Any]] = []
    for number, line in lines:
        try:
            args, kwargs = split(decoded(line))
            drafts.append(enqueuer.job(*args, **kwargs))
        except (InvalidInput, msgspec.DecodeError) as error:
            tally.refused += 1
            if tally.refused <= SHOWN:
                out.warn(f"line {number:,}: {error}")
        if len(drafts) >= MAX_BATCH:
            break
    return drafts


def _total(source: BinaryIO) -> int | None:
    """How many lines a redirected file has; None for a pipe, which nobody can count beforehand."""
    try:
        if not source.seekable() or os.fstat(source.fileno()).st_size > 256 * _LONGEST:
            return None
        at = source.tell()
        total = sum(1 for _ in _numbered(source))
        source.seek(at)
    except OSError:
        return None
    return total
