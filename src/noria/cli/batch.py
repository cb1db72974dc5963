"""Many jobs of one task from lines of JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import msgspec

from noria.cli.arguments import decoded, split
from noria.cli.exits import ExitCode, Stop
from noria.cli.flags import Flags
from noria.cli.opening import opened_producer
from noria.cli.output import Output
from noria.cli.producer import Producer, Stored
from noria.cli.quantities import count
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
            parts.append(
                f"{self.existing:,} stood for by {'another job' if self.existing == 1 else 'other jobs'}"
            )
        if self.refused:
            parts.append(f"{count(self.refused, 'line')} refused")
        return ", ".join(parts)


async def enqueue_lines(flags: Flags, task: str, options: Mapping[str, Any], source: BinaryIO) -> None:
    """Enqueue a job for each line, a thousand at a time; print the ids, and a summary on stderr.

    A line that is no JSON, or does not fit the task, is told and left out; the others are enqueued.

    Raises:
        Stop: some lines were refused.
        BackendError: the backend failed; what was told before is stored.
    """
    out, tally = Output(flags), Tally()
    lines = _numbered(source)
    async with opened_producer(flags, task, options) as producer:
        with out.progress("enqueue", _total(source)) as advance:
            while drafts := _next(lines, producer, tally, out):
                stored = await producer.enqueue([draft for _, draft in drafts])
                for (number, _), each in zip(drafts, stored, strict=True):
                    _count(out, tally, number, each)
                advance(len(stored))
    out.note(str(tally))
    if tally.refused:
        raise Stop(ExitCode.FAILED)


def _count(out: Output, tally: Tally, number: int, stored: Stored) -> None:
    if stored.why:
        _refuse(out, tally, number, stored.why)
        return
    tally.enqueued += stored.created
    tally.existing += not stored.created
    _print(out, stored)


def _refuse(out: Output, tally: Tally, number: int, why: object) -> None:
    tally.refused += 1
    if tally.refused <= SHOWN:
        out.warn(f"line {number:,}: {why}")


def _print(out: Output, stored: Stored) -> None:
    if out.json:
        out.record({"id": stored.id, "created": stored.created, "enqueued": stored.enqueued})
    else:
        out.line(stored.id)


def _numbered(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := source.readline(_LONGEST):
        number += 1
        if line.strip():
            yield number, line


def _next(
    lines: Iterator[tuple[int, bytes]], producer: Producer[Any], tally: Tally, out: Output
) -> list[tuple[int, Any]]:
    """The next thousand jobs with the numbers of their lines; fewer at the end."""
    drafts: list[tuple[int, Any]] = []
    for number, line in lines:
        try:
            drafts.append((number, producer.draft(split(decoded(line)))))
        except (InvalidInput, msgspec.DecodeError) as error:
            _refuse(out, tally, number, error)
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
