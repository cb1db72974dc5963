"""What `noria doctor` asks of a Redis server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from noria.app.connect import Redis
from noria.cli.checks_both import check_clock, check_latency
from noria.cli.finding import Finding, failed, note, ok, warning
from noria.cli.quantities import size
from noria.clock import SystemClock
from noria.errors import BackendError, ConfigError

if TYPE_CHECKING:
    from noria.backends.redis.look import Look

Told = Mapping[str, str]
"""What INFO says."""

_NEARLY: int = 85
_FULL: int = 98
"""Percent of `maxmemory` from which the memory is nearly full, and full."""


def check_version(told: Told, oldest: tuple[int, int]) -> Finding:
    """Whether its scripts say for themselves what they do when memory is full."""
    version = told.get("redis_version", "0")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) >= oldest:
        return ok("server", f"Redis {version}")
    return failed(
        "server", f"Redis {version} is too old", f"upgrade it to {'.'.join(map(str, oldest))} or newer"
    )


def check_role(told: Told) -> Finding:
    """Whether it takes writes, of one whole namespace."""
    if told.get("redis_mode") == "cluster":
        fix = "name a server without cluster mode in NORIA_URL"
        return failed("role", "a cluster, over which one namespace cannot be spread", fix)
    if told.get("role") == "slave":
        primary = f"{told.get('master_host', '?')}:{told.get('master_port', '?')}"
        return failed(
            "role", "a replica, which takes no writes", f"name its primary, {primary}, in NORIA_URL"
        )
    return ok("role", "a primary")


def check_eviction(told: Told) -> Finding:
    """What it does when its memory is full."""
    policy = told.get("maxmemory_policy", "noeviction")
    if policy == "noeviction":
        return ok("eviction", policy)
    if policy.startswith("volatile"):
        return ok("eviction", f"{policy}: takes only keys that expire, and none of Noria's does")
    fix = "redis-cli config set maxmemory-policy noeviction, and put it into redis.conf"
    return failed(
        "eviction", f"with maxmemory-policy {policy}, jobs are thrown away when memory is full", fix
    )


def check_memory(told: Told) -> Finding:
    """How much room is left."""
    used, most = int(told.get("used_memory", 0)), int(told.get("maxmemory", 0))
    if not most:
        return ok("memory", f"{size(used)} used, no maxmemory")
    text = f"{size(used)} of {size(most)} used"
    fix = "raise maxmemory, or keep fewer records of ended jobs; when it is full, new jobs are refused"
    if used * 100 >= most * _FULL:
        return failed("memory", text, fix)
    if used * 100 >= most * _NEARLY:
        return warning("memory", text, fix)
    return ok("memory", text)


def check_file(told: Told, appendfsync: str | None, persistence: str) -> Finding:
    """What survives the end of the server."""
    if told.get("aof_enabled") != "1":
        text = "none: when the server ends, jobs are lost"
        if persistence == "none":
            return note("append-only file", f"{text}; the URL says that this is well")
        fix = "redis-cli config set appendonly yes, and put it into redis.conf; or ?persistence=none in NORIA_URL"
        return warning("append-only file", text, fix)
    if appendfsync == "no":
        fix = "redis-cli config set appendfsync everysec, and put it into redis.conf"
        return warning(
            "append-only file", "synced when the system likes: a crash of the machine takes more", fix
        )
    if appendfsync is None:
        return note("append-only file", "kept; the server does not let us ask how often it is synced")
    return ok("append-only file", f"appendfsync {appendfsync}")


def check_saving(told: Told) -> Iterator[Finding]:
    """Whether it could write to its disk when it last tried."""
    fix = "look into its log: its disk may be full, or its folder not be its own; until it can, it takes no writes"
    tries = {
        "aof_last_write_status": "the last write to the append-only file failed",
        "aof_last_bgrewrite_status": "the last rewrite of the append-only file failed",
        "rdb_last_bgsave_status": "the last snapshot failed",
    }
    bad = [text for name, text in tries.items() if told.get(name, "ok") != "ok"]
    for text in bad:
        yield failed("saving", text, fix)
    if not bad:
        yield ok("saving", "the last writes to its disk succeeded")


def check_rights(forbidden: str) -> Finding:
    """Whether its access rules let this user do all that Noria needs."""
    if not forbidden:
        return ok("rights", "all that Noria needs, on the keys and channels of its namespace")
    return failed("rights", forbidden, "see docs/howto/redis.md for a line with the rights that are needed")


def check_namespace(name: str, epoch: bool) -> Finding:
    """Whether the namespace is in use."""
    if epoch:
        return ok("namespace", f"{name} is in use")
    return note("namespace", f"{name} is empty: never used, or the server has lost what it held")


def check_redis(store: Redis, seconds: float) -> Iterator[Finding]:
    """Everything about a server; nothing is changed on it."""
    try:
        import hiredis

        from noria.backends.redis.look import look
        from noria.backends.redis.settings import Settings
    except ModuleNotFoundError as error:
        yield failed("driver", f"{error.name} is not installed", "pip install 'noria[redis]'")
        return
    yield ok("driver", f"hiredis {hiredis.__version__}")
    try:
        found = asyncio.run(look(Settings(address=store.address, timeout=seconds), SystemClock()))
    except (BackendError, ConfigError) as error:
        yield failed("server", str(error), "mend what it says, or name another server by --url or NORIA_URL")
        return
    yield from judge(found, store)


def judge(found: Look, store: Redis) -> Iterator[Finding]:
    """All findings about what was seen."""
    from noria.backends.redis.checks import OLDEST

    yield check_rights(found.forbidden)
    if not found.told:
        return
    yield check_version(found.told, OLDEST)
    yield check_role(found.told)
    yield check_eviction(found.told)
    yield check_memory(found.told)
    yield check_file(found.told, found.appendfsync, store.persistence)
    yield from check_saving(found.told)
    yield check_namespace(store.address.namespace, found.epoch)
    yield check_clock(found.ahead)
    yield check_latency(found.latency)
