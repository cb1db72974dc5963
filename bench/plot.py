"""A report as one small picture: rates of drains, and round trips."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

MISSING: Final = "matplotlib is not installed: no plot was drawn"

_RATES: Final = {
    "drain.rate": "drain",
    "drain.busy": "beside a\nsaturated loop",
    "drain.thread": "beside a\nCPU-bound thread",
}
_TRIPS: Final = {"trip.p50": "p50", "trip.p95": "p95", "trip.p99": "p99"}
_COLOURS: Final = {"noria": "#2a6f97", "huey": "#c9a227"}


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


@contextmanager
def drawing(path: Path) -> Iterator[Any]:
    """pyplot for the time of a block; then its current figure is written as SVG, the same bytes each time."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "noria", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    yield pyplot
    pyplot.savefig(path, metadata={"Date": None})
    pyplot.close()


def draw(report: dict[str, Any], path: Path) -> None:
    """Write the picture."""
    with drawing(path) as pyplot:
        _, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3), width_ratios=(3, 2), layout="constrained")
        _bars(left, report, _RATES, "jobs a second, one worker process, results kept")
        _bars(right, report, _TRIPS, "round trip with an idle worker, ms")
        left.legend(frameon=False)


def _bars(axes: Any, report: dict[str, Any], metrics: dict[str, str], title: str) -> None:
    found = {(each["metric"], each["side"]): each for each in report["figures"]}
    for offset, (side, colour) in enumerate(_COLOURS.items()):
        there = [(at, found[metric, side]) for at, metric in enumerate(metrics) if (metric, side) in found]
        bars = axes.bar(
            [at + 0.4 * offset - 0.2 for at, _ in there],
            [each["median"] for _, each in there],
            0.38,
            color=colour,
            label=side.capitalize() if side == "noria" else side,
            yerr=[
                [each["median"] - min(each["values"]) for _, each in there],
                [max(each["values"]) - each["median"] for _, each in there],
            ],
            error_kw={"elinewidth": 0.8},
        )
        axes.bar_label(bars, fmt=lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.2g}", padding=2)
    axes.set_xticks(range(len(metrics)), metrics.values())
    axes.set_title(title, fontsize=9)
    axes.margins(y=0.15)
    axes.spines[["top", "right"]].set_visible(False)
