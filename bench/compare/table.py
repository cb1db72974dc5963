"""A comparison as Markdown: a table for each kind of measurement, a row for each contestant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bench.compare import plot
from bench.look import Look
from bench.table import cell, circumstances, computer, demands, number, remarks

_TABLES: Final = {
    "Enqueue, one producer, jobs/s": {
        "enqueue.single": "one by one",
        "enqueue.callers": "100 concurrent",
        "enqueue.bulk": "bulk",
    },
    "Drain, jobs/s": {
        "drain.off": "1 worker, no results",
        "drain.on": "1 worker, results",
        "drain.off_two": "2 workers, no results",
        "drain.on_two": "2 workers, results",
    },
    "Idle latency, ms": {
        "trip.p50": "round trip p50",
        "trip.p95": "p95",
        "trip.p99": "p99",
        "pick.p50": "enqueue to end of handler p50",
        "pick.p95": "p95",
        "pick.p99": "p99",
    },
    "Jobs that sleep 0.1 s, and footprint": {
        "naps.seconds": "naps, s",
        "start.seconds": "start to first job, s",
        "idle.memory": "idle worker, MiB",
    },
}
_ABILITIES: Final = {
    "enqueue.callers": "awaits",
    "enqueue.bulk": "bulk",
    "drain.on": "results",
    "drain.on_two": "results",
    "trip.p50": "trips",
    "trip.p95": "trips",
    "trip.p99": "trips",
    "naps.seconds": "naps",
}
"""What a contestant must be able to do to have a figure."""
_OURS: Final = {
    "queued": "1.5 million jobs queued before",
    "delayed": "1.5 million jobs delayed by an hour",
}
_SHARED: Final = (
    *(
        "enqueue.single",
        "enqueue.callers",
        "enqueue.bulk",
        "drain.off",
        "drain.on",
        "drain.off_two",
        "drain.on_two",
    ),
    *("trip.p50", "pick.p50", "naps.seconds", "start.seconds", "idle.memory"),
)
"""Metrics that are shown beside the bare loops."""

Figures = dict[tuple[str, str], dict[str, Any]]


def about(report: dict[str, Any]) -> str:
    """Where, and on which servers."""
    lines = [
        f"{report['date']}, Noria {report['version']}: {computer(report)}.",
        *(f"{text}." for text in report["servers"].values()),
        circumstances(report),
    ]
    return "\n".join(lines)


def numbers(report: dict[str, Any]) -> str:
    """One table for each kind, and the footnotes of what is not there."""
    figures = _by_key(report)
    notes: list[str] = []
    parts = []
    for title, columns in _TABLES.items():
        if any(metric in columns for metric, _ in figures):
            parts.append(f"**{title}**\n\n{_table(report, figures, columns, notes)}")
    parts += [part for part in (_long(report, figures), _footnotes(notes)) if part]
    return "\n\n".join(parts)


def shares(report: dict[str, Any]) -> str:
    """Noria as a part of what the bare loop on the same server does; empty if it was not measured."""
    figures = _by_key(report)
    sides = [side for side in report["contestants"] if side in report["ratios"]]
    rows = []
    for metric in _SHARED:
        ratios = {side: report["ratios"][side].get(metric) for side in sides}
        if any(ratios.values()):
            title = next(each["title"] for (key, _), each in figures.items() if key == metric)
            cells = [f"{ratio['median']:.2g}x" if ratio else "–" for ratio in ratios.values()]
            rows.append(f"| {title} | {' | '.join(cells)} |")
    if not rows:
        return ""
    heads = [report["contestants"][side]["title"] for side in sides]
    return "\n".join(
        [f"| against the bare loop | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}", *rows]
    )


def settings(report: dict[str, Any]) -> str:
    """How each contestant was set up, and in which versions."""
    lines = []
    for each in report["contestants"].values():
        versions = ", ".join(f"{name} {version}" for name, version in each["versions"].items())
        lines.append(f"- **{each['title']}**: {each['settings']}. {versions}.")
    return "\n".join(lines)


def _by_key(report: dict[str, Any]) -> Figures:
    return {(each["metric"], each["side"]): each for each in report["figures"]}


def _table(report: dict[str, Any], figures: Figures, columns: dict[str, str], notes: list[str]) -> str:
    first = next(iter(columns))
    rows = [f"| | n | {' | '.join(columns.values())} |", f"|---|{'---:|' * (len(columns) + 1)}"]
    for side, contestant in report["contestants"].items():
        found = {metric: figures.get((metric, side)) for metric in columns}
        there = [each for each in found.values() if each]
        if not there:
            continue
        sizes = sorted({each["n"] for each in there})
        size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,}–{sizes[-1]:,}"
        cells = [_cell(found[metric], contestant, metric, notes) for metric in columns]
        rows.append(
            f"| {contestant['title']} | {size if first != 'naps.seconds' else _naps(found)} | {' | '.join(cells)} |"
        )
    return "\n".join(rows)


def _naps(found: dict[str, dict[str, Any] | None]) -> str:
    naps = found["naps.seconds"]
    return f"{naps['n']:,}" if naps else "–"


def _cell(figure: dict[str, Any] | None, contestant: dict[str, Any], metric: str, notes: list[str]) -> str:
    if figure is not None:
        return cell({**figure, "unit": ""}).replace("  ", " ").strip()
    why = contestant["lacks"].get(_ABILITIES.get(metric, ""))
    if why is None:
        return "–"
    if why not in notes:
        notes.append(why)
    return f"–[{notes.index(why) + 1}]"


def _long(report: dict[str, Any], figures: Figures) -> str:
    rows = []
    for side, contestant in report["contestants"].items():
        for key, what in _OURS.items():
            cells = [
                figures.get((f"{key}.{part}", side))
                for part in ("empty_enqueue", "enqueue", "empty_drain", "drain")
            ]
            if all(cells):
                rows.append(
                    f"| {contestant['title']} | {what} | {' | '.join(_rate(each) for each in cells)} |"
                )
        alone, beside = figures.get(("foreign.alone", side)), figures.get(("foreign.open", side))
        if alone and beside:
            what = "an open foreign transaction, last tenth of the jobs"
            rows.append(f"| {contestant['title']} | {what} | – | – | {_rate(alone)} | {_rate(beside)} |")
    if not rows:
        return ""
    head = ["| | | enqueue without | with | drain without | with |", "|---|---|---:|---:|---:|---:|"]
    return "**What is in the way, jobs/s**\n\n" + "\n".join([*head, *rows])


def _rate(figure: dict[str, Any] | None) -> str:
    return number(figure["median"]) if figure else "–"


def _footnotes(notes: Sequence[str]) -> str:
    return "\n".join(f"[{at}] {why}.  " for at, why in enumerate(notes, 1))


LOOK: Final = Look(
    {
        "about": about,
        "numbers": numbers,
        "shares": shares,
        "demands": demands,
        "settings": settings,
        "remarks": remarks,
    },
    plot.draw,
)
