"""A run as one document: what is written as JSON, and read again to make tables and plots."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from bench.figures import Figures, Series, half_range
from bench.gates import Demand, Judgement
from bench.rotation import Rotation


def document(
    rotation: Rotation, judgements: Sequence[Judgement], about: dict[str, Any], ratios: dict[str, Any]
) -> dict[str, Any]:
    """Everything that a reader needs to judge the numbers.

    Args:
        about: name, date, machine, stores.
        ratios: between contestants, as `ratios` finds them.
    """
    return {
        **about,
        "repetitions": rotation.repeat,
        "scale": dataclasses.asdict(rotation.scale),
        "load": [round(load, 2) for load in rotation.loads],
        "figures": [_series(series) for series in rotation.figures],
        "ratios": ratios,
        "demands": [_judgement(each) for each in judgements],
        "notes": rotation.notes,
        "faults": rotation.faults,
    }


def _series(series: Series) -> dict[str, Any]:
    return {
        "metric": series.metric.key,
        "title": series.metric.title,
        "unit": series.metric.unit,
        "higher_is_better": series.metric.higher,
        "side": series.side,
        "n": series.n,
        "median": _short(series.median),
        "spread": round(series.spread, 3),
        "values": [_short(value) for value in series.values.values()],
    }


def ratios(figures: Figures, over: str, under: str) -> dict[str, dict[str, float]]:
    """One contestant's values of each metric divided by another's, each repetition by itself."""
    found = {}
    for key in [series.metric.key for series in figures if series.side == over]:
        if values := figures.ratios((key, over), (key, under)):
            median = _short(statistics.median(values))
            found[key] = {"median": median, "spread": round(half_range(values), 3)}
    return found


def _judgement(each: Judgement) -> dict[str, Any]:
    demand = each.demand
    return {
        "kind": demand.kind,
        "what": demand.what,
        "bound": _bound(demand),
        "value": None if each.value is None else _short(each.value),
        "range": None if each.low is None or each.high is None else [_short(each.low), _short(each.high)],
        "unit": demand.unit,
        "passed": each.passed,
    }


def _bound(demand: Demand) -> str:
    number = f"{demand.limit:,g}" + ("" if demand.unit == "x" else " ") + demand.unit
    return f"{'at least' if demand.least else 'at most'} {number}"


def _short(value: float) -> float:
    return float(f"{value:.5g}")
