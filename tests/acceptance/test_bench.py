"""The benchmark runs, checks what it measures, and says what it leaves out. Nothing here is about speed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from bench.figures import Figures, Metric, Reading, quantile
from bench.gates import Demand, judge
from tests.support.source import ROOT

RATE = Metric("drain.rate", "Drain", "jobs/s", higher=True)


def run(folder: Path, *parts: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench", *parts, "--quick", "--json", "--folder", str(folder / "stores")]
    command += ["--results", str(folder / "results")]
    # In a group of its own, so that a run that hangs takes its workers with it.
    done = subprocess.Popen(command, cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    try:
        output, said = done.communicate(timeout=50)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(done.pid, signal.SIGKILL)
    assert done.returncode == 0, said + output
    report: dict[str, Any] = json.loads(output)
    return report


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "metrics"),
    [
        (("enqueue", "callers", "bulk"), {"enqueue.single", "enqueue.callers", "enqueue.bulk"}),
        (("drain", "cap", "backlog"), {"drain.rate", "cap.rate", "backlog.drain", "backlog.enqueue"}),
        (("groups",), {"groups.enqueue", "groups.drain", "groups.free_drain"}),
        (("trip", "start", "import"), {"trip.p50", "trip.p99", "start.seconds", "import.ms"}),
    ],
    ids=["enqueue", "drain", "groups", "trip"],
)
def test_a_quick_run_measures_its_parts_and_keeps_the_results(
    tmp_path: Path, parts: tuple[str, ...], metrics: set[str]
) -> None:
    # When some parts are run
    report = run(tmp_path, *parts)
    # Then each has a figure of Noria's, on a store that is as safe as by default
    assert metrics <= {each["metric"] for each in report["figures"] if each["side"] == "noria"}
    assert (report["stores"]["noria"]["journal_mode"], report["stores"]["noria"]["synchronous"]) == ("wal", 2)
    # And the files are there, without the names of folders
    stem = tmp_path / "results" / f"{report['date']}-noria"
    assert json.loads(stem.with_suffix(".json").read_text()) == report
    assert stem.with_suffix(".md").read_text().count("| gate |") == len(
        [each for each in report["demands"] if each["kind"] == "gate"]
    )
    assert str(tmp_path) not in stem.with_suffix(".json").read_text()
    # And what is not installed is said
    notes = " ".join(report["notes"])
    assert ("huey is not installed" in notes) == (importlib.util.find_spec("huey") is None)
    assert ("matplotlib is not installed" in notes) == (importlib.util.find_spec("matplotlib") is None)


def test_ratios_are_taken_within_each_repetition() -> None:
    # Given two contestants on a machine that was twice as fast in the second repetition
    figures = Figures()
    for repetition, (ours, theirs) in enumerate([(100.0, 10.0), (200.0, 20.0), (300.0, 20.0)]):
        figures.add("noria", repetition, Reading(RATE, ours, 1))
        figures.add("huey", repetition, Reading(RATE, theirs, 1))
    # When a demand on their ratio is judged
    key = "drain.rate"
    demand = Demand("gate", "ratio", (key, "noria"), (key, "huey"), 10, least=True, unit="x")
    [judgement] = judge(figures, [demand])
    # Then it is the median of the ratios, not the ratio of the medians
    assert (judgement.value, judgement.low, judgement.high, judgement.passed) == (10, 10, 15, True)


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    figures = Figures()
    figures.add("noria", 0, Reading(RATE, 100.0, 1))
    key = "drain.rate"
    demand = Demand("gate", "ratio", (key, "noria"), (key, "huey"), 10, least=True, unit="x")
    assert judge(figures, [demand])[0].passed is None


def test_quantiles_are_values_that_were_seen() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert [quantile(values, part) for part in (0.5, 0.95, 0.99)] == [50, 95, 99]
    assert quantile([7.0], 0.99) == 7
