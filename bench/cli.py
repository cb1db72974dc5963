"""The command line of the benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import keep, machine, publish, table
from bench.child import ROOT
from bench.gates import DEMANDS, judge
from bench.report import document, ratios
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
    return keep.conclude(given, lambda: _measure(given), table.LOOK, publish.PAGE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Noria measured, beside huey on SQLite."
    )
    keep.options(parser, parts=_NAMES, repeat=5, page=publish.PAGE, name="noria")
    parser.add_argument("--jobs", type=int, help=f"jobs of a drain; {FULL.jobs}")
    parser.add_argument("--only", choices=[side.name for side in SIDES], help="one contestant alone")
    parser.add_argument("--folder", type=Path, default=ROOT / "bench" / "out", help="where the stores are")
    return parser


def _measure(given: argparse.Namespace) -> dict[str, Any]:
    subjects = keep.chosen(SUBJECTS, given.parts)
    wanted = [side for side in SIDES if given.only in (None, side.name)]
    sides = [side for side in wanted if side.here]
    rotation = Rotation(
        sides=sides,
        subjects=subjects,
        scale=_scale(given),
        repeat=given.repeat or (1 if given.quick else 5),
        folder=given.folder,
    )
    missing = [side.needs for side in wanted if not side.here]
    rotation.notes += [f"{name} is not installed: there is no comparison with it" for name in missing]
    about = _about(given, sides)
    rotation.run()
    figures = rotation.figures
    return document(rotation, judge(figures, DEMANDS), about, ratios(figures, "noria", "huey"))


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
