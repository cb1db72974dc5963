"""`python -m bench.sketch`: what follow-ups, unique keys and groups add to a settle of 500, on each engine.

Shapes take turns, so that whatever else the machine does meets all of them alike. Each settle is looked at
afterwards, and in the first round it is asked again, which must change nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench import machine
from bench.child import ROOT, BenchError
from bench.compare.servers import serving
from bench.sketch.postgres import PostgresEngine
from bench.sketch.redis import RedisEngine
from bench.sketch.sqlite import SqliteEngine
from bench.sketch.work import SHAPES, SIZE, Batch, Engine, Shape, batches, expected


class Spent(NamedTuple):
    """Microseconds of one job in one settle: by the clock on the wall, and of the processor, ours and the server's."""

    wall: float
    ours: float
    server: float


Measured = Mapping[Shape, Sequence[Spent]]


def main(words: Sequence[str]) -> int:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.sketch", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=60, help="settles of each shape (default 60)")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "bench" / "out", help="on a disk, for the stores"
    )
    given = parser.parse_args(words)
    given.folder.mkdir(parents=True, exist_ok=True)
    about = machine.describe()
    print(
        f"{about['cpu']}, {about['cores']} cores, {about['kernel']}, {about['python']}; {given.rounds} rounds\n"
    )
    print("| µs a job: wall / our CPU / server's CPU | " + " | ".join(shape.name for shape in SHAPES) + " |")
    print("|---|" + "---:|" * len(SHAPES))
    with ExitStack() as stack:
        lines = [_line(engine, _measure(engine, given.rounds)) for engine in _engines(stack, given.folder)]
    print("\n" + "\n".join(lines))
    return 0


def _engines(stack: ExitStack, folder: Path) -> Iterator[Engine]:
    def made() -> Path:
        return Path(stack.enter_context(TemporaryDirectory(dir=folder)))

    yield SqliteEngine(made())
    yield PostgresEngine(stack.enter_context(serving("postgres", made(), made())).url)
    yield RedisEngine(stack.enter_context(serving("redis", made(), made())).url)


def _measure(engine: Engine, rounds: int) -> Measured:
    series = {shape: batches(shape) for shape in SHAPES}
    spent: dict[Shape, list[Spent]] = {shape: [] for shape in SHAPES}
    for round in range(rounds + 1):
        for shape in SHAPES:
            batch = next(series[shape])
            engine.fill(batch)
            figures = _settle(engine, batch)
            check(engine, batch, again=round == 0)
            if round:
                spent[shape].append(figures)
    return spent


def _settle(engine: Engine, batch: Batch) -> Spent:
    wall, ours, server = time.perf_counter(), time.process_time(), engine.server_cpu()
    verdicts = engine.settle(batch)
    wall, ours = time.perf_counter() - wall, time.process_time() - ours
    if verdicts != "o" * SIZE:
        raise BenchError(f"{engine.name}: {batch.queue} was settled with {verdicts}")
    return Spent(*(seconds * 1e6 / SIZE for seconds in (wall, ours, engine.server_cpu() - server)))


def check(engine: Engine, batch: Batch, *, again: bool) -> None:
    """Raises BenchError if a batch is not as it must be after its settle; `again`: settles it once more before."""
    if again and (verdicts := engine.settle(batch)) != "a" * SIZE:
        raise BenchError(f"{engine.name}: {batch.queue} was settled again with {verdicts}")
    if (found := engine.look(batch)) != (due := expected(batch)):
        wrong = [
            f"{name} {a} and not {b}" for name, a, b in zip(found._fields, found, due, strict=True) if a != b
        ]
        raise BenchError(f"{engine.name}: {batch.queue} has {'; '.join(wrong)}"[:2_000])


def _line(engine: Engine, measured: Measured) -> str:
    cells = [
        " / ".join(_median(column) for column in zip(*spent, strict=True)) for spent in measured.values()
    ]
    print(f"| {engine.name} | " + " | ".join(cells) + " |", flush=True)
    return f"* {engine.about}"


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
