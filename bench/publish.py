"""Puts a report into the documentation: the tables between two markers of a page, and the plot beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from bench import plot, table
from bench.child import ROOT, BenchError

PAGE: Final = ROOT / "docs" / "benchmarks.md"
PLOT: Final = ROOT / "docs" / "benchmarks" / "drain.svg"
_BETWEEN: Final = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def publish(report: dict[str, Any], page: Path = PAGE, picture: Path = PLOT) -> list[str]:
    """Rewrite the page's tables; what could not be done is said in the answer.

    Raises:
        BenchError: the run had faults, or was a quick one: its numbers are not for readers.
    """
    if report["faults"] or report["quick"]:
        raise BenchError("only a whole run without faults is published")
    parts = {"about": table.about(report), "numbers": table.numbers(report), "demands": table.demands(report)}
    old = page.read_text(encoding="utf-8")
    new = _BETWEEN.sub(lambda found: f"<!-- {found[1]} -->\n\n{parts[found[1]]}\n\n<!-- end -->", old)
    page.write_text(new, encoding="utf-8")
    if not plot.can_draw():
        return [plot.MISSING]
    picture.parent.mkdir(exist_ok=True)
    plot.draw(report, picture)
    return []
