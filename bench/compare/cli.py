"""The command line of the comparison."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from bench import keep, machine
from bench.child import ROOT
from bench.compare import servers, table, versions
from bench.compare.contestant import Contestant
from bench.compare.contestants import CONTESTANTS, PEERS, TRIAL
from bench.compare.gates import demands
from bench.compare.preflight import able
from bench.compare.subjects import subjects
from bench.gates import judge
from bench.publish import Page
from bench.report import document, ratios
from bench.rotation import Rotation
from bench.scale import FULL, QUICK, Scale

PAGE: Final = Page(
    ROOT / "docs" / "compare.md", "compare/drain.svg", "Jobs a second and round trips of all contestants"
)
_ALL: Final = {each.name: each for each in (*CONTESTANTS, TRIAL)}
_PARTS: Final = tuple(subject.name for subject in subjects(CONTESTANTS))
_BARE: Final = {"noria-redis": "bare-redis", "noria-postgres": "bare-postgres"}
_SCALE: Final = replace(FULL, singles=2_000, jobs=60_000, trips=500)


def main(words: Sequence[str]) -> int:
    """Measure, write, print.

    Returns:
        0; 1 if a measurement went wrong or, with --strict, a gate is missed.
    """
    # Told to end, we end like any program that is interrupted: through every `finally`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = _parser().parse_args(words)
    return keep.conclude(given, lambda: _measure(given), table.LOOK, PAGE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare",
        description="Noria beside other systems, on private Redis and PostgreSQL servers.",
    )
    keep.options(parser, parts=_PARTS, repeat=3, page=PAGE, name="compare")
    parser.add_argument(
        "--jobs", type=int, help=f"jobs of a drain; {_SCALE.jobs}; slow contestants get fewer"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=list(_ALL), help=f"some of {', '.join(_ALL)}"
    )
    parser.add_argument("--folder", type=Path, help="where the servers keep their files; a temporary folder")
    return parser


def _measure(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="noria-compare-", dir=given.folder) as text:
        folder = Path(text)
        # PostgreSQL may run as another user, who has to get through to its files.
        folder.chmod(0o711)
        wanted = [_ALL[name] for name in given.only] if given.only else list(CONTESTANTS)
        sides, notes = able(wanted, folder)
        rotation = Rotation(
            sides=sides,
            subjects=keep.chosen(subjects(sides), given.parts),
            scale=_scale(given),
            repeat=given.repeat or (1 if given.quick else 3),
            folder=folder,
            notes=notes,
        )
        about = _about(given, folder, sides, whole=len(sides) == len(CONTESTANTS))
        rotation.run()
    figures = rotation.figures
    judgements = judge(figures, demands(figures, [(each.name, each.server) for each in PEERS]))
    return document(
        rotation, judgements, about, {ours: ratios(figures, ours, bare) for ours, bare in _BARE.items()}
    )


def _scale(given: argparse.Namespace) -> Scale:
    scale = QUICK if given.quick else _SCALE
    return scale.with_jobs(given.jobs) if given.jobs else scale


def _about(
    given: argparse.Namespace, folder: Path, sides: Sequence[Contestant], *, whole: bool
) -> dict[str, Any]:
    return {
        "name": given.name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "version": metadata.version("noria"),
        "quick": given.quick,
        "whole": whole and not (given.quick or given.parts),
        "machine": machine.describe(),
        "file_system": machine.file_system(folder),
        "servers": {kind: servers.version(kind) for kind in dict.fromkeys(side.server for side in sides)},
        "contestants": {side.name: _contestant(side) for side in sides},
    }


def _contestant(side: Contestant) -> dict[str, Any]:
    return {
        "title": side.title,
        "server": side.server,
        "settings": side.settings,
        "lacks": dict(side.lacks),
        "versions": versions.of(side),
    }
