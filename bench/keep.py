"""What every benchmark's command line does with a report: keep it, print it, publish it, judge it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from bench import plot
from bench.child import ROOT
from bench.look import Look
from bench.publish import Page, publish
from bench.subject import Subject

_RESULTS: Final = ROOT / "bench" / "results"


def options(
    parser: argparse.ArgumentParser, *, parts: Sequence[str], repeat: int, page: Page, name: str
) -> None:
    """The arguments that benchmarks have in common.

    Args:
        parts: what can be measured.
        repeat: how often it is measured by default.
        page: where a report is published.
        name: what results are called by default.
    """
    shown = page.path.relative_to(ROOT)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}; default: all")
    parser.add_argument("--repeat", type=int, help=f"repetitions; {repeat}, or 1 with --quick")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, no more")
    parser.add_argument("--name", default=name, help="for the files with the results")
    parser.add_argument("--results", type=Path, help="folder; bench/results, or none with --quick")
    parser.add_argument("--read", type=Path, metavar="FILE", help="read a result instead of measuring")
    parser.add_argument("--publish", action="store_true", help=f"put tables and plot into {shown}")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--strict", action="store_true", help="end with 1 if a gate is missed")


def chosen(subjects: Sequence[Subject], parts: Sequence[str]) -> list[Subject]:
    """The subjects of these names, or all.

    Raises:
        SystemExit: there is no such one.
    """
    names = [subject.name for subject in subjects]
    if unknown := set(parts) - set(names):
        raise SystemExit(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return [subject for subject in subjects if not parts or subject.name in parts]


def conclude(given: argparse.Namespace, measure: Callable[[], dict[str, Any]], look: Look, page: Page) -> int:
    """Get a report, by measuring or by reading, and do with it what was asked for.

    Returns:
        0; 1 if a measurement went wrong or, with --strict, a gate is missed.
    """
    if given.read:
        report = json.loads(given.read.read_text(encoding="utf-8"))
    else:
        report = measure()
        _write(report, given.results, look)
    print(json.dumps(report, indent=1) if given.json else look.markdown(report))
    if given.publish:
        for line in publish(report, look, page):
            print(line, file=sys.stderr)
    missed = [each for each in report["demands"] if each["kind"] == "gate" and each["passed"] is False]
    return 1 if report["faults"] or (given.strict and missed) else 0


def _write(report: dict[str, Any], folder: Path | None, look: Look) -> None:
    """The JSON, the table and the plot of a run, under its date and name."""
    if folder is None:
        if report["quick"]:
            return
        folder = _RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{report['date']}-{report['name']}"
    if plot.can_draw():
        look.draw(report, stem.with_suffix(".svg"))
    else:
        report["notes"].append(plot.MISSING)
    stem.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    stem.with_suffix(".md").write_text(look.markdown(report), encoding="utf-8")
