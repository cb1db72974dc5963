"""Puts a report into the documentation: the tables between markers of a page, and the plot beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import plot, table
from bench.child import ROOT, BenchError
from bench.look import Look

_BETWEEN: Final = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation that shows a report.

    Attributes:
        path: the page.
        picture: the plot, from the page's folder.
        caption: what the plot shows, for those who do not see it.
    """

    path: Path
    picture: str
    caption: str


PAGE: Final = Page(
    ROOT / "docs" / "benchmarks.md", "benchmarks/drain.svg", "Jobs a second and round trips, Noria and huey"
)


def publish(report: dict[str, Any], look: Look = table.LOOK, page: Page = PAGE) -> list[str]:
    """Rewrite the page's tables; what could not be done is said in the answer.

    Raises:
        BenchError: the run had faults, or was not a whole one: its numbers are not for readers.
    """
    if report["faults"] or not report["whole"]:
        raise BenchError("only a whole run without faults is published")
    drawn, picture = plot.can_draw(), page.path.parent / page.picture
    parts = {name: part(report) for name, part in look.parts.items()}
    if drawn:
        picture.parent.mkdir(exist_ok=True)
        look.draw(report, picture)
        parts["about"] += f"\n\n![{page.caption}]({page.picture})"
    old = page.path.read_text(encoding="utf-8")
    new = _BETWEEN.sub(lambda found: f"<!-- {found[1]} -->\n\n{parts[found[1]]}\n\n<!-- end -->", old)
    page.path.write_text(new, encoding="utf-8")
    return [] if drawn else [plot.MISSING]
