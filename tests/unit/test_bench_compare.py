"""The pure half of the comparison: who is asked for what, who has to be beaten, and what a reader sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.child import BenchError
from bench.compare.contestants import CONTESTANTS, PEERS, TRIAL
from bench.compare.gates import best, demands
from bench.compare.subjects import subjects
from bench.compare.table import LOOK
from bench.figures import Figures, Metric, Reading
from bench.gates import judge
from bench.publish import Page, publish
from bench.rotation import Rotation
from bench.scale import QUICK
from tests.support.source import ROOT

ON = Metric("drain.on", "Drain, results", "jobs/s", higher=True)
OFF = Metric("drain.off", "Drain, no results", "jobs/s", higher=True)
TRIP = Metric("trip.p50", "Round trip, p50", "ms")


def measured(values: dict[tuple[Metric, str], list[float]]) -> Figures:
    figures = Figures()
    for (metric, side), series in values.items():
        for repetition, value in enumerate(series):
            figures.add(side, repetition, Reading(metric, value, 100))
    return figures


# ---- who takes part


def test_each_contestant_is_asked_only_for_what_it_has() -> None:
    asked = {subject.name: set(subject.sides) for subject in subjects(CONTESTANTS)}
    lacking = {
        "callers": "awaits",
        "bulk": "bulk",
        "on": "results",
        "on2": "results",
        "trip": "trips",
        "naps": "naps",
    }
    for name, ability in lacking.items():
        assert asked[name] == {each.name for each in CONTESTANTS if ability not in each.lacks}, name
    everyone = {each.name for each in CONTESTANTS}
    assert asked["enqueue"] == asked["off"] == asked["off2"] == asked["pick"] == asked["idle"] == everyone
    assert asked["queued"] == asked["delayed"] == {"noria-redis", "noria-postgres"}
    assert asked["foreign"] == {"noria-postgres"}


def test_each_peer_has_a_module_an_environment_and_a_lack_that_is_explained() -> None:
    files = {path.stem for path in (ROOT / "requirements/compare").glob("*.txt")}
    for each in (*CONTESTANTS, TRIAL):
        assert not each.peer or (ROOT / f"bench/compare/peers/{each.peer}.py").exists()
        assert each.environment in files | {""}
        assert all(why and not why.endswith(".") for why in each.lacks.values())
    assert {each.environment for each in CONTESTANTS} - {""} == files
    assert {each.name for each in PEERS}.isdisjoint({"bare-redis", "bare-postgres", "noria-redis"})


def test_a_slow_contestant_gets_fewer_jobs_and_two_workers_get_enough_for_both() -> None:
    rq = next(each for each in CONTESTANTS if each.name == "rq")
    dramatiq = next(each for each in CONTESTANTS if each.name == "dramatiq")
    assert rq.jobs(60_000) == 2_400
    assert rq.jobs(60_000, 2) == 4_800
    # A worker may take a thousand messages before it runs one: with fewer, the second worker might get none.
    assert dramatiq.jobs(100, 2) == 8_000


def test_another_contestant_begins_in_each_repetition(tmp_path: Path) -> None:
    # Given a subject that only says who was asked
    asked: list[str] = []

    class Ask:
        name = "ask"
        sides = ("celery", "rq", "noria-redis")

        def measure(self, side: Any, arena: Any) -> list[Reading]:
            asked.append(side.name)
            return []

    # When it is repeated three times
    sides = [each for each in CONTESTANTS if each.name in Ask.sides]
    Rotation(sides, [Ask()], QUICK, 3, tmp_path).run()
    # Then everybody is asked each time, and everybody was first once
    first, second, third = asked[:3], asked[3:6], asked[6:]
    assert first == ["noria-redis", "celery", "rq"]
    assert second == ["celery", "rq", "noria-redis"]
    assert third == ["rq", "noria-redis", "celery"]


# ---- who has to be beaten


def test_the_best_peer_is_that_of_this_run_on_the_same_server() -> None:
    peers = [("celery", "redis"), ("dramatiq", "redis"), ("pgqueuer", "postgres")]
    figures = measured(
        {
            (ON, "noria-redis"): [30_000, 24_000, 33_000],
            (ON, "celery"): [700, 700, 700],
            (ON, "dramatiq"): [2_000, 2_000, 3_000],
            (ON, "noria-postgres"): [20_000, 20_000, 20_000],
            (OFF, "pgqueuer"): [20_000, 25_000, 16_000],
            (TRIP, "noria-redis"): [0.5, 0.5, 0.5],
            (TRIP, "celery"): [2.0, 2.0, 2.0],
            (TRIP, "dramatiq"): [8.0, 8.0, 8.0],
        }
    )
    found = {each.demand.what: each for each in judge(figures, demands(figures, peers))}
    # Ratios are taken within each repetition: 15, 12, 11
    redis = found["drain with results on Redis, against the best peer, dramatiq"]
    assert (redis.value, redis.passed) == (12, True)
    postgres = found["drain with results on PostgreSQL, against PgQueuer, which keeps none"]
    assert (postgres.value, postgres.passed) == (1.0, True)
    trip = found["idle round trip p50 on Redis, against the best peer, celery"]
    assert (trip.value, trip.passed) == (0.25, True)
    # What was not measured is neither met nor missed
    assert found["idle round trip p50 on PostgreSQL, against the best peer"].passed is None


def test_the_best_of_nobody_is_nobody() -> None:
    assert best(measured({}), "drain.on", ["celery"], higher=True) is None
    both = measured({(TRIP, "a"): [1.0], (TRIP, "b"): [2.0]})
    assert best(both, "trip.p50", ["a", "b"], higher=False) == "a"
    assert best(both, "trip.p50", ["a", "b"], higher=True) == "b"


@pytest.mark.parametrize("kind", ["queued", "delayed"])
def test_a_long_queue_may_cost_a_third_of_the_rate(kind: str) -> None:
    before = Metric(f"{kind}.empty_drain", "", "jobs/s")
    after = Metric(f"{kind}.drain", "", "jobs/s")
    for rate, passed in ((21_000, True), (19_000, False)):
        figures = measured({(before, "noria-redis"): [30_000], (after, "noria-redis"): [rate]})
        what = f"drain with results on Redis with 1,500,000 jobs {kind}: how much slower"
        found = {each.demand.what: each for each in judge(figures, demands(figures, []))}
        assert found[what].passed is passed


# ---- what a reader sees


def report(**more: Any) -> dict[str, Any]:
    def figure(metric: str, side: str, median: float) -> dict[str, Any]:
        shown = {"metric": metric, "title": f"the {metric}", "unit": "jobs/s", "side": side, "n": 5_000}
        return {**shown, "median": median, "spread": 0.1, "values": [median, median]}

    contestants = {
        "noria-redis": {
            "title": "Noria, Redis",
            "lacks": {},
            "settings": "default",
            "versions": {"noria": "1"},
        },
        "rq": {
            "title": "RQ",
            "lacks": {"naps": "one job at a time"},
            "settings": "simple",
            "versions": {"rq": "3"},
        },
    }
    return {
        "date": "2026-11-30",
        "version": "1",
        "machine": {"cpu": "a CPU", "cores": 2, "memory_gib": 24, "kernel": "Linux", "python": "CPython"},
        "file_system": "ext4",
        "servers": {"redis": "Redis 7, AOF everysec"},
        "repetitions": 3,
        "load": [0.1, 0.5],
        "contestants": contestants,
        "figures": [
            figure("drain.on", "noria-redis", 30_000),
            figure("drain.on", "rq", 250),
            figure("naps.seconds", "noria-redis", 1.1),
            figure("idle.memory", "rq", 34),
        ],
        "ratios": {"noria-redis": {"drain.on": {"median": 0.21, "spread": 0.0}}},
        "demands": [],
        "notes": ["SAQ takes no part: no"],
        "faults": [],
        **more,
    }


def test_a_contestant_without_a_thing_has_a_dash_with_its_reason() -> None:
    text = LOOK.markdown(report())
    assert "| RQ | – | –[1] | – | 34 ±10 % |" in text
    assert "[1] one job at a time." in text
    assert "| Noria, Redis | 5,000 | – | 30,000 ±10 % | – | – |" in text


def test_the_report_has_machine_servers_settings_and_the_share_of_the_bare_loop() -> None:
    text = LOOK.markdown(report())
    assert "a CPU, 2 cores, 24 GiB" in text and "Redis 7, AOF everysec." in text
    assert "- **RQ**: simple. rq 3." in text
    assert "| the drain.on | 0.21x |" in text
    assert "- SAQ takes no part: no" in text


def test_the_page_has_a_place_for_each_part() -> None:
    page = (ROOT / "docs/compare.md").read_text()
    assert all(f"<!-- {part} -->" in page for part in LOOK.parts if part != "remarks")


def test_a_whole_run_is_put_between_the_markers_of_its_page_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "compare.md"
    path.write_text("# Title\n\n<!-- settings -->\n\nold\n\n<!-- end -->\n\nProse.\n")
    page = Page(path, "pictures/drain.svg", "what it shows")
    for more in ({"whole": False}, {"whole": True, "faults": ["one"]}):
        with pytest.raises(BenchError, match="only a whole run"):
            publish(report(**more), LOOK, page)
    said = publish(report(whole=True), LOOK, page)
    text = path.read_text()
    assert "old" not in text and "- **RQ**: simple. rq 3." in text and text.endswith("Prose.\n")
    assert (tmp_path / "pictures/drain.svg").exists() is not bool(said)
