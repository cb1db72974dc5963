"""A report as Markdown."""

from __future__ import annotations

from typing import Any, Final

_NAMES: Final = {"noria": "Noria", "huey": "huey"}
_VERDICTS: Final = {True: "met", False: "**missed**", None: "not measured"}


def markdown(report: dict[str, Any]) -> str:
    """All of it: machine, numbers, demands, and what went wrong."""
    parts = [about(report), numbers(report), demands(report)]
    if report["notes"] or report["faults"]:
        faults = [f"FAULT: {fault}" for fault in report["faults"]]
        parts.append("\n".join(f"- {line}" for line in [*report["notes"], *faults]))
    return "\n\n".join(parts) + "\n"


def about(report: dict[str, Any]) -> str:
    """Where and how it was measured."""
    machine, loads = report["machine"], report["load"]
    lines = [
        f"{report['date']}, Noria {report['version']}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gib']:g} GiB, {machine['kernel']}, {report['file_system']}, {machine['python']}, "
        + ", ".join(f"{name} {machine[name]}" for name in ("apsw", "uvloop", "msgspec", "huey"))
        + ".",
        f"Medians of {report['repetitions']}; ± is half the range over the median; load average "
        f"{min(loads):.1f} to {max(loads):.1f}.",
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
        cells = [_cell(found.get(side)) for side in _NAMES]
        cells.append(f"{ratio['median']:.3g}x" if ratio else "–")
        sizes = dict.fromkeys(found[side]["n"] for side in _NAMES if side in found)
        rows.append(f"| {any_one['title']} | {' / '.join(map('{:,}'.format, sizes))} | {' | '.join(cells)} |")
    return "\n".join(rows)


def demands(report: dict[str, Any]) -> str:
    """Gates and goals, and whether they are met."""
    rows = ["| | | demanded | found | range | |", "|---|---|---:|---:|---:|---|"]
    for each in report["demands"]:
        low_high = f"{_number(each['range'][0])} to {_number(each['range'][1])}" if each["range"] else "–"
        value = f"{_number(each['value'])} {each['unit']}" if each["value"] is not None else "–"
        cells = (each["kind"], each["what"], each["bound"], value, low_high, _VERDICTS[each["passed"]])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _pragmas(store: dict[str, Any]) -> str:
    said = ", ".join(f"{name} {value}" for name, value in store.items() if name != "sqlite")
    return f"SQLite {store['sqlite']}, {said}"


def _cell(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "–"
    values = figure["values"]
    spread = f" ±{100 * figure['spread']:.0f} %" if len(values) > 1 else ""
    if figure["spread"] > 1:
        spread = f" ({_number(min(values))} to {_number(max(values))})"
    return f"{_number(figure['median'])} {figure['unit']}{spread}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
