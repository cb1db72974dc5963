"""How a report is shown: its parts as Markdown, and its picture. The two benchmarks differ in this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Look:
    """The looks of a report.

    Attributes:
        parts: by the names of their markers in a page of the documentation; empty ones are left out of `markdown`.
        draw: writes the picture as SVG, the same bytes for the same report.
    """

    parts: Mapping[str, Callable[[dict[str, Any]], str]]
    draw: Callable[[dict[str, Any], Path], None]

    def markdown(self, report: dict[str, Any]) -> str:
        """All of it."""
        found = [part(report) for part in self.parts.values()]
        return "\n\n".join(part for part in found if part) + "\n"
