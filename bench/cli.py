"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import machine, plot, publish, table
from bench.child import ROOT
from bench.gates import DEMANDS, judge
from bench.report import document
from bench.rotation import Rotation
from bench.scale import FULL, QUICK, Scale
from bench.side import Side, Store
from bench.sides import SIDES
from bench.subjects import SUBJECTS

_NAMES = tuple(subject.name for subject in SUBJECTS)


def main(words: Sequence[str]) -> int:
    """Measure, write, print.

    Returns:
        0; 1 if a measurement went wrong or, with --strict, a gate is missed.
    """
    given = _parser().parse_args(words)
    if given.read:
        report = json.loads(given.read.read_text(encoding="utf-8"))
    else:
        report = _measure(given)
        _write(report, given.results)
    print(json.dumps(report, indent=1) if given.json else table.markdown(report))
    if given.publish:
        for line in publish.publish(report):
            print(line, file=sys.stderr)
    missed = [each for each in report["demands"] if each["kind"] == "gate" and each["passed"] is False]
    return 1 if report["faults"] or (given.strict and missed) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Noria measured, beside huey on SQLite."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_NAMES)}; default: all")
    parser.add_argument("--repeat", type=int, help="repetitions; 5, or 1 with --quick")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, no more")
    parser.add_argument("--jobs", type=int, help=f"jobs of a drain; {FULL.jobs}")
    parser.add_argument("--only", choices=[side.name for side in SIDES], help="one contestant alone")
    parser.add_argument("--folder", type=Path, default=ROOT / "bench" / "out", help="where the stores are")
    parser.add_argument("--name", default="noria", help="for the files with the results")
    parser.add_argument("--results", type=Path, help="folder; bench/results, or none with --quick")
    parser.add_argument("--read", type=Path, metavar="FILE", help="read a result instead of measuring")
    parser.add_argument("--publish", action="store_true", help="put tables and plot into docs/benchmarks.md")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--strict", action="store_true", help="end with 1 if a gate is missed")
    return parser


def _measure(given: argparse.Namespace) -> dict[str, Any]:
    unknown = set(given.parts) - set(_NAMES)
    if unknown:
        raise SystemExit(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(_NAMES)}")
    wanted = [side for side in SIDES if given.only in (None, side.name)]
    sides = [side for side in wanted if side.here]
    rotation = Rotation(
        sides=sides,
        subjects=[subject for subject in SUBJECTS if not given.parts or subject.name in given.parts],
        scale=_scale(given),
        repeat=given.repeat or (1 if given.quick else 5),
        folder=given.folder,
    )
    missing = [side.needs for side in wanted if not side.here]
    rotation.notes += [f"{name} is not installed: there is no comparison with it" for name in missing]
    about = _about(given, sides)
    rotation.run()
    return document(rotation, judge(rotation.figures, DEMANDS), about)


def _scale(given: argparse.Namespace) -> Scale:
    scale = QUICK if given.quick else FULL
    return scale.with_jobs(given.jobs) if given.jobs else scale


def _about(given: argparse.Namespace, sides: Sequence[Side]) -> dict[str, Any]:
    given.folder.mkdir(parents=True, exist_ok=True)
    stores = {}
    for side in sides:
        with TemporaryDirectory(dir=given.folder) as folder, TemporaryDirectory() as runtime:
            stores[side.name] = side.describe(Store(Path(folder), Path(runtime)))
    return {
        "name": given.name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "version": metadata.version("noria"),
        "quick": given.quick,
        "whole": not (given.quick or given.parts or given.only),
        "machine": machine.describe(),
        "file_system": machine.file_system(given.folder),
        "stores": stores,
    }


def _write(report: dict[str, Any], folder: Path | None) -> None:
    """The JSON, the table and the plot of a run, under its date and name."""
    if folder is None:
        if report["quick"]:
            return
        folder = ROOT / "bench" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{report['date']}-{report['name']}"
    if plot.can_draw():
        plot.draw(report, stem.with_suffix(".svg"))
    else:
        report["notes"].append(plot.MISSING)
    stem.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    stem.with_suffix(".md").write_text(table.markdown(report), encoding="utf-8")
