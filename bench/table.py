"""A report as Markdown."""

from __future__ import annotations

from typing import Any, Final

from bench import plot
from bench.look import Look

_NAMES: Final = {"noria": "Noria", "huey": "huey"}
_VERDICTS: Final = {True: "met", False: "**missed**", None: "not measured"}


def about(report: dict[str, Any]) -> str:
    """Where and how it was measured."""
    versions = ", ".join(
        f"{name} {report['machine'][name]}" for name in ("apsw", "uvloop", "msgspec", "huey")
    )
    lines = [
        f"{report['date']}, Noria {report['version']}: {computer(report)}, {versions}.",
        circumstances(report),
    ]
    lines += [f"{_NAMES[side]}'s store: {_pragmas(store)}." for side, store in report["stores"].items()]
    return "\n".join(lines)


def numbers(report: dict[str, Any]) -> str:
    """One row for each metric."""
    rows = ["| | n | Noria | huey | ratio |", "|---|---:|---:|---:|---:|"]
    metrics = list(dict.fromkeys(each["metric"] for each in report["figures"]))
    for metric in metrics:
        found = {each["side"]: each for each in report["figures"] if each["metric"] == metric}
        any_one = next(iter(found.values()))
        ratio = report["ratios"].get(metric)
        cells = [cell(found.get(side)) for side in _NAMES]
        cells.append(f"{ratio['median']:.3g}x" if ratio else "–")
        sizes = dict.fromkeys(found[side]["n"] for side in _NAMES if side in found)
        rows.append(f"| {any_one['title']} | {' / '.join(map('{:,}'.format, sizes))} | {' | '.join(cells)} |")
    return "\n".join(rows)


def demands(report: dict[str, Any]) -> str:
    """Gates and goals, and whether they are met."""
    rows = ["| | | demanded | found | range | |", "|---|---|---:|---:|---:|---|"]
    for each in report["demands"]:
        low_high = f"{number(each['range'][0])} to {number(each['range'][1])}" if each["range"] else "–"
        value = f"{number(each['value'])} {each['unit']}" if each["value"] is not None else "–"
        cells = (each["kind"], each["what"], each["bound"], value, low_high, _VERDICTS[each["passed"]])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def remarks(report: dict[str, Any]) -> str:
    """What was left out, and what went wrong; empty if nothing did."""
    faults = [f"FAULT: {fault}" for fault in report["faults"]]
    return "\n".join(f"- {line}" for line in [*report["notes"], *faults])


def circumstances(report: dict[str, Any]) -> str:
    """How often it was measured, and how busy the machine was."""
    loads = report["load"]
    return (
        f"Medians of {report['repetitions']}; ± is half the range over the median; load average "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )


def computer(report: dict[str, Any]) -> str:
    """The machine."""
    machine = report["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, {machine['kernel']}, "
        f"{report['file_system']}, {machine['python']}"
    )


def _pragmas(store: dict[str, Any]) -> str:
    said = ", ".join(f"{name} {value}" for name, value in store.items() if name != "sqlite")
    return f"SQLite {store['sqlite']}, {said}"


def cell(figure: dict[str, Any] | None) -> str:
    """A figure with its unit and spread."""
    if figure is None:
        return "–"
    values = figure["values"]
    spread = f" ±{100 * figure['spread']:.0f} %" if len(values) > 1 else ""
    if figure["spread"] > 1:
        spread = f" ({number(min(values))} to {number(max(values))})"
    return f"{number(figure['median'])} {figure['unit']}{spread}"


def number(value: float) -> str:
    """As many digits as a reader needs."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


LOOK: Final = Look({"about": about, "numbers": numbers, "demands": demands, "remarks": remarks}, plot.draw)
