"""Puts a report into the documentation: the tables between two markers of a page, and the plot beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from bench import plot, table
from bench.child import ROOT, BenchError

PAGE: Final = ROOT / "docs" / "benchmarks.md"
PICTURE: Final = "benchmarks/drain.svg"
"""Beside the page."""
_BETWEEN: Final = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def publish(report: dict[str, Any], page: Path = PAGE) -> list[str]:
    """Rewrite the page's tables; what could not be done is said in the answer.

    Raises:
        BenchError: the run had faults, or was not a whole one: its numbers are not for readers.
    """
    if report["faults"] or not report["whole"]:
        raise BenchError("only a whole run without faults is published")
    drawn, picture = plot.can_draw(), page.parent / PICTURE
    parts = {"about": table.about(report), "numbers": table.numbers(report), "demands": table.demands(report)}
    if drawn:
        picture.parent.mkdir(exist_ok=True)
        plot.draw(report, picture)
        parts["about"] += f"\n\n![Jobs a second and round trips, Noria and huey]({PICTURE})"
    old = page.read_text(encoding="utf-8")
    new = _BETWEEN.sub(lambda found: f"<!-- {found[1]} -->\n\n{parts[found[1]]}\n\n<!-- end -->", old)
    page.write_text(new, encoding="utf-8")
    return [] if drawn else [plot.MISSING]
