"""What the comparison must show (gates), and what we want it to show (goals).

Whom Noria has to beat is decided by the run itself: the best peer on the same server, by its median.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from bench.figures import Figures
from bench.gates import Demand, Kind

_SERVERS: Final = {"redis": "Redis", "postgres": "PostgreSQL"}


def demands(figures: Figures, peers: Iterable[tuple[str, str]]) -> list[Demand]:
    """All demands on a run.

    Args:
        peers: names of other systems and their servers.
    """
    on: dict[str, list[str]] = {server: [] for server in _SERVERS}
    for name, server in peers:
        on[server].append(name)
    return [
        _beside_best(
            figures, "drain with results on Redis", "drain.on", "redis", on["redis"], 10, higher=True
        ),
        _against_pgqueuer(),
        *(
            _beside_best(
                figures, f"idle round trip p50 on {title}", "trip.p50", server, on[server], 1, higher=False
            )
            for server, title in _SERVERS.items()
        ),
        *(each for server in _SERVERS for each in _long_queues(server)),
        _slower(
            "beside a foreign transaction, the last tenth of 300,000 jobs", "foreign.alone", "foreign.open", 3
        ),
        *_goals(),
    ]


def best(figures: Figures, key: str, names: Collection[str], *, higher: bool) -> str | None:
    """Whose median of a metric is the best; None if nobody's was measured."""
    medians = {name: series.median for name in names if (series := figures.find(key, name)) is not None}
    if not medians:
        return None
    return (max if higher else min)(medians, key=lambda name: medians[name])


def _beside_best(
    figures: Figures, what: str, key: str, server: str, peers: Collection[str], limit: float, *, higher: bool
) -> Demand:
    rival = best(figures, key, peers, higher=higher)
    said = f"{what}, against the best peer" + (f", {rival}" if rival else "")
    return _ratio(
        "gate", said, (key, f"noria-{server}"), (key, rival or "the best peer"), limit, least=higher
    )


def _against_pgqueuer() -> Demand:
    what = "drain with results on PostgreSQL, against PgQueuer, which keeps none"
    return _ratio("gate", what, ("drain.on", "noria-postgres"), ("drain.off", "pgqueuer"), 1, least=True)


def _long_queues(server: str) -> list[Demand]:
    return [
        _slower(
            f"{way} on {_SERVERS[server]} with 1,500,000 jobs {kind}",
            f"{kind}.empty_{key}",
            f"{kind}.{key}",
            1.5,
            server,
        )
        for kind in ("queued", "delayed")
        for key, way in {"enqueue": "bulk enqueue", "drain": "drain with results"}.items()
    ]


def _slower(what: str, before: str, after: str, limit: float, server: str = "postgres") -> Demand:
    side = f"noria-{server}"
    return _ratio("gate", f"{what}: how much slower", (before, side), (after, side), limit, least=False)


def _goals() -> list[Demand]:
    redis, postgres = "noria-redis", "noria-postgres"
    return [
        _goal("drain with results on Redis", "drain.on", redis, 30_000, "jobs/s"),
        _goal("drain without results on Redis", "drain.off", redis, 40_000, "jobs/s"),
        _goal("drain with results on PostgreSQL", "drain.on", postgres, 25_000, "jobs/s"),
        _goal("bulk enqueue on Redis", "enqueue.bulk", redis, 100_000, "jobs/s"),
        _goal("bulk enqueue on PostgreSQL", "enqueue.bulk", postgres, 60_000, "jobs/s"),
        _goal("enqueue on Redis, 100 concurrent awaits", "enqueue.callers", redis, 25_000, "jobs/s"),
        _goal("enqueue on PostgreSQL, 100 concurrent awaits", "enqueue.callers", postgres, 15_000, "jobs/s"),
        _goal("idle round trip p50 on Redis", "trip.p50", redis, 0.6, "ms"),
        _goal("idle round trip p50 on PostgreSQL", "trip.p50", postgres, 1.5, "ms"),
        *(
            demand
            for server, title in _SERVERS.items()
            for demand in (
                _goal(
                    f"5,000 jobs of 0.1 s on {title}, concurrency 500",
                    "naps.seconds",
                    f"noria-{server}",
                    1.15,
                    "s",
                ),
                _two(f"two worker processes on {title}, against one", f"noria-{server}"),
                _goal(
                    f"start of a worker to its first job on {title}",
                    "start.seconds",
                    f"noria-{server}",
                    0.4,
                    "s",
                ),
                _goal(f"memory of an idle worker on {title}", "idle.memory", f"noria-{server}", 45, "MiB"),
            )
        ),
    ]


def _two(what: str, side: str) -> Demand:
    return _ratio("goal", what, ("drain.on_two", side), ("drain.on", side), 1.5, least=True)


def _ratio(
    kind: Kind, what: str, over: tuple[str, str], under: tuple[str, str], limit: float, *, least: bool
) -> Demand:
    return Demand(kind, what, over, under, limit, least, "x")


def _goal(what: str, key: str, side: str, limit: float, unit: str) -> Demand:
    """A bound on the value itself: a lower one on rates, an upper one on times and sizes."""
    return Demand("goal", what, (key, side), None, limit, unit == "jobs/s", unit)
