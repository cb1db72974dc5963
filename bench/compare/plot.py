"""A comparison as one picture: how fast one worker drains a queue, and how long a round trip takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench.plot import drawing

_PANELS: Final = (
    (
        {"drain.off": ("no results", "#a9c6d9"), "drain.on": ("results", "#2a6f97")},
        "one worker process, jobs a second",
    ),
    ({"trip.p99": ("p99", "#e8d9a0"), "trip.p50": ("p50", "#c9a227")}, "round trip with an idle worker, ms"),
)


def draw(report: dict[str, Any], path: Path) -> None:
    """Write the picture. Both scales are logarithmic: the bare loops would hide everything else."""
    sides = {name: each["title"] for name, each in reversed(report["contestants"].items())}
    with drawing(path) as pyplot:
        _, axes = pyplot.subplots(
            1, 2, figsize=(9, 0.8 + 0.35 * len(sides)), sharey=True, layout="constrained"
        )
        for each, (metrics, title) in zip(axes, _PANELS, strict=True):
            _bars(each, report, sides, metrics)
            each.set_title(title, fontsize=9)


def _bars(
    axes: Any, report: dict[str, Any], sides: dict[str, str], metrics: dict[str, tuple[str, str]]
) -> None:
    found = {(each["metric"], each["side"]): each["median"] for each in report["figures"]}
    drawn = False
    for offset, (metric, (label, colour)) in enumerate(metrics.items()):
        there = [(at, found[metric, side]) for at, side in enumerate(sides) if (metric, side) in found]
        if not there:
            continue
        places = [at + 0.4 * offset - 0.2 for at, _ in there]
        bars = axes.barh(places, [value for _, value in there], 0.38, color=colour, label=label)
        axes.bar_label(
            bars, fmt=lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.2g}", padding=2, fontsize=7
        )
        drawn = True
    axes.set_yticks(range(len(sides)), sides.values())
    if drawn:
        axes.set_xscale("log")
        axes.margins(x=0.25)
        axes.legend(frameon=False, fontsize=7, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
