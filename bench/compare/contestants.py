"""Who is compared, and how each worker is started. Why it is set up so, its module says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from bench.compare.contestant import ENVIRONMENTS, Contestant
from bench.compare.servers import Kind

_BLOCKS: Final = "its client blocks: there is nothing to await"
_LOOPS: Final = "it has no call for many jobs"
_ONE: Final = "a worker runs one job at a time"
_NO_RESULTS: Final = "it keeps no results"


def _bin(environment: str, name: str) -> str:
    return str(ENVIRONMENTS / environment / "bin" / name)


def _noria(server: Kind, title: str) -> Contestant:
    command = (str(Path(sys.executable).with_name("noria")), "--quiet", "worker", "bench.noria_side.app:app")
    return Contestant(
        name=f"noria-{server}",
        title=f"Noria, {title}",
        server=server,
        needs="noria",
        worker=command,
        sleeper=(*command, "--concurrency", "{slots}"),
        ahead=1_000,
        settings="default settings; without results: `keep=0`",
        distributions=("noria", "uvloop", "msgspec"),
    )


_CELERY: Final = (
    _bin("celery", "celery"),
    "-q",
    "-A",
    "bench.compare.peers.celery",
    "worker",
    "-l",
    "WARNING",
)
_QUIET: Final = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_DRAMATIQ: Final = ("bench.compare.peers.dramatiq", "--processes", "1")
_HUEY: Final = ("bench.compare.peers.huey.huey", "-q", "-n")
_TASKIQ: Final = (_bin("asyncio", "taskiq"), "worker", "bench.compare.peers.taskiq:broker", "--workers", "1")

NORIA_REDIS: Final = _noria("redis", "Redis")
NORIA_POSTGRES: Final = _noria("postgres", "PostgreSQL")
NORIA_SQLITE: Final = _noria("sqlite", "SQLite")

CELERY: Final = Contestant(
    name="celery",
    title="Celery",
    server="redis",
    needs="celery",
    environment="celery",
    peer="celery",
    worker=(*_CELERY, "-P", "solo", *_QUIET),
    sleeper=(*_CELERY, "-P", "gevent", "-c", "{slots}", *_QUIET),
    part=0.15,
    ahead=128,
    lacks={"awaits": _BLOCKS, "bulk": _LOOPS},
    settings="acknowledged late, prefetch multiplier 128, pool solo (sleeping jobs: gevent), JSON, no gossip, "
    "mingle, heartbeat",
    distributions=("celery", "kombu", "redis", "gevent"),
)

DRAMATIQ: Final = Contestant(
    name="dramatiq",
    title="Dramatiq",
    server="redis",
    needs="dramatiq",
    environment="blocking",
    peer="dramatiq",
    worker=(_bin("blocking", "dramatiq"), *_DRAMATIQ, "--threads", "1"),
    sleeper=(_bin("blocking", "dramatiq-gevent"), *_DRAMATIQ, "--threads", "{slots}"),
    part=0.4,
    ahead=1_000,
    lacks={"awaits": _BLOCKS, "bulk": _LOOPS},
    settings="one process, one thread (sleeping jobs: dramatiq-gevent), prefetch 1,000, default middleware and Results",
    distributions=("dramatiq", "redis", "gevent"),
)

ARQ: Final = Contestant(
    name="arq",
    title="arq",
    server="redis",
    needs="arq",
    environment="arq",
    peer="arq",
    worker=(_bin("arq", "python"), "-m", "bench.compare.peers.arq"),
    part=0.25,
    ahead=100,
    lacks={"bulk": _LOOPS},
    settings="max_jobs 100, poll_delay 10 ms instead of 500, results looked for every 1 ms, uvloop, hiredis",
    distributions=("arq", "redis", "uvloop"),
)

TASKIQ: Final = Contestant(
    name="taskiq",
    title="taskiq",
    server="redis",
    needs="taskiq",
    environment="asyncio",
    peer="taskiq",
    worker=(
        *_TASKIQ,
        "--max-async-tasks",
        "20",
        "--max-prefetch",
        "200",
        "--no-parse",
        "--log-level",
        "WARNING",
    ),
    sleeper=(
        *(*_TASKIQ, "--max-async-tasks", "{slots}", "--max-prefetch", "{slots}"),
        *("--no-parse", "--log-level", "WARNING"),
    ),
    part=0.3,
    ahead=250,
    lacks={"bulk": _LOOPS},
    settings="RedisStreamBroker, xread_count 100, one process, max-async-tasks 20, max-prefetch 200, --no-parse, "
    "orjson, uvloop",
    distributions=("taskiq", "taskiq-redis", "redis", "uvloop"),
)

SAQ: Final = Contestant(
    name="saq",
    title="SAQ",
    server="redis",
    needs="saq",
    environment="asyncio",
    peer="saq",
    worker=(_bin("asyncio", "python"), "-m", "bench.compare.peers.saq"),
    part=0.25,
    lacks={"bulk": _LOOPS},
    settings="concurrency 50, values looked for every 1 ms, orjson, uvloop, hiredis, no sweep for stuck jobs "
    "meanwhile; without results: ttl=-1",
    distributions=("saq", "redis", "uvloop"),
)

RQ: Final = Contestant(
    name="rq",
    title="RQ",
    server="redis",
    needs="rq",
    environment="blocking",
    peer="rq",
    worker=(_bin("blocking", "python"), "-m", "bench.compare.peers.rq"),
    part=0.04,
    ahead=1,
    lacks={"awaits": _BLOCKS, "naps": _ONE},
    settings="SimpleWorker, which does not fork for each job; without results: result_ttl=0",
    distributions=("rq", "redis"),
)

HUEY: Final = Contestant(
    name="huey",
    title="Huey",
    server="redis",
    needs="huey",
    environment="blocking",
    peer="huey",
    worker=(_bin("blocking", "huey_consumer"), *_HUEY, "-w", "2"),
    sleeper=(
        _bin("blocking", "python"),
        "-m",
        "bench.compare.peers.huey_gevent",
        *_HUEY,
        "-w",
        "{slots}",
        "-k",
        "greenlet",
    ),
    part=0.3,
    ahead=2,
    lacks={"awaits": _BLOCKS, "bulk": _LOOPS},
    settings="two threads (sleeping jobs: greenlets), notify_result, no periodic tasks; it takes a task off the "
    "queue before running it",
    distributions=("huey", "redis", "gevent"),
)

BARE_REDIS: Final = Contestant(
    name="bare-redis",
    title="bare loop, Redis",
    server="redis",
    needs="msgspec",
    peer="bare_redis",
    worker=(sys.executable, "-m", "bench.compare.peers.bare_redis"),
    ahead=1_000,
    settings="no product: streams, 500 a read, one XACK and XDEL a turn, a pipelining client, uvloop",
    distributions=("msgspec", "uvloop"),
)

PROCRASTINATE: Final = Contestant(
    name="procrastinate",
    title="Procrastinate",
    server="postgres",
    needs="procrastinate",
    environment="postgres",
    peer="procrastinate",
    worker=(_bin("postgres", "python"), "-m", "bench.compare.peers.procrastinate"),
    part=0.06,
    ahead=20,
    lacks={"results": _NO_RESULTS, "trips": "it has no call that waits for a job"},
    settings="concurrency 20, pool of 10, delete_jobs=always, listens for jobs, uvloop",
    distributions=("procrastinate", "psycopg", "uvloop"),
)

PGQUEUER: Final = Contestant(
    name="pgqueuer",
    title="PgQueuer",
    server="postgres",
    needs="pgqueuer",
    environment="postgres",
    peer="pgqueuer",
    worker=(_bin("postgres", "python"), "-m", "bench.compare.peers.pgqueuer"),
    lacks={"results": _NO_RESULTS},
    ahead=1_000,
    settings="batch_size 1,000, asyncpg pool, autovac settings, default durability, uvloop; a round trip ends when it "
    "knows that the job has succeeded",
    distributions=("pgqueuer", "asyncpg", "uvloop"),
)

BARE_POSTGRES: Final = Contestant(
    name="bare-postgres",
    title="bare loop, PostgreSQL",
    server="postgres",
    needs="asyncpg",
    environment="postgres",
    peer="bare_postgres",
    worker=(_bin("postgres", "python"), "-m", "bench.compare.peers.bare_postgres"),
    lacks={"results": _NO_RESULTS, "trips": "it has nothing that waits for a job"},
    ahead=2_000,
    settings="no product: claims of 1,000 with SKIP LOCKED, one DELETE a turn on a second connection, NOTIFY, uvloop",
    distributions=("asyncpg", "msgspec", "uvloop"),
)

CONTESTANTS: Final = (
    *(NORIA_REDIS, CELERY, DRAMATIQ, ARQ, TASKIQ, SAQ, RQ, HUEY, BARE_REDIS),
    *(NORIA_POSTGRES, PROCRASTINATE, PGQUEUER, BARE_POSTGRES),
)
"""In the order of the table."""

TRIAL: Final = NORIA_SQLITE
"""Only on request: the comparison's own code without a server."""

PEERS: Final = tuple(each for each in CONTESTANTS if each.peer and not each.peer.startswith("bare"))
"""Other systems: neither Noria nor a bare loop."""
