"""What is asked of a server before it is trusted with jobs, and the remedy for what is missing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from noria.backends.redis.call import Call, Request, Steps, command
from noria.backends.redis.faults import CLUSTER, forbidden, foreign, replica
from noria.backends.redis.settings import Settings
from noria.errors import ConfigError

log = logging.getLogger("noria.redis")

OLDEST: Final = (7, 0)
"""The first version whose scripts say for themselves what they do when memory is full."""

# fmt: off
COMMANDS: Final = (
    "DEL", "EXISTS", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HKEYS", "HMGET", "HSET",
    "HSTRLEN", "INCR", "INFO", "LINDEX", "LLEN", "LPOP", "LRANGE", "LTRIM", "PUBLISH", "RPUSH", "SADD",
    "SET", "SISMEMBER", "SMEMBERS", "SPOP", "SREM", "SUBSCRIBE", "TIME", "TYPE", "UNSUBSCRIBE", "ZADD",
    "ZCARD", "ZCOUNT", "ZINCRBY", "ZRANGE", "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZRANK", "ZREM", "ZREVRANGE",
    "ZREVRANGEBYLEX", "ZSCORE",
)
# fmt: on
"""What scripts and calls do to keys and channels of the namespace; a test compares."""

RIGHTS: Final = Request("rights", COMMANDS)
"""Which of them are forbidden."""

KEYS: Final = {
    **dict.fromkeys(("head", "body", "card", "result", "why", "log", "change"), "hash"),
    **dict.fromkeys(("keys", "marks", "counts", "flow", "fresh", "linked", "parents", "pending"), "hash"),
    **dict.fromkeys(("ids", "dead", "erased", "kept", "kept_dead", "lapsing", "following"), "zset"),
    **dict.fromkeys(("minutes", "parked", "sessions"), "zset"),
    "untold": "list",
}
"""The first keys of every namespace, and what they are."""

_LASTING: Final = (
    "a change survives the death of any process; after a crash of the server's machine it is there as far as its "
    "append-only file was synced, which `appendfsync everysec` does each second and `appendfsync always` at once"
)
_PASSING: Final = (
    "a change survives the death of any process of Noria's, and not that of the server, "
    "which keeps no append-only file"
)


class Told(Mapping[str, str]):
    """What a server tells of itself, by the names of INFO."""

    def __init__(self, text: str) -> None:
        pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
        self._fields = {name: value.strip() for name, value in pairs}

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __iter__(self) -> Any:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Check(Call):
    """The call: look at the server, and refuse one that would lose jobs. The reply says how lasting a change is."""

    writes = False

    def steps(self, settings: Settings) -> Steps:
        """Look, and refuse."""
        (text,) = yield [command("INFO")]
        told = Told(text.decode())
        _check_version(told, settings)
        _check_mode(told, settings)
        _check_eviction(told, settings)
        yield from _check_rights(settings)
        yield from _check_keys(settings)
        return _check_persistence(told, settings)


def _check_version(told: Told, settings: Settings) -> None:
    version = told.get("redis_version", "0")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(
            f"{settings.address.shown} is version {version}, and Noria needs {oldest} or newer: upgrade it"
        )


def _check_mode(told: Told, settings: Settings) -> None:
    if told.get("redis_mode") == "cluster":
        raise ConfigError(f"{settings.address.shown}: {CLUSTER}")
    if told.get("role") == "slave":
        raise ConfigError(replica(settings.address))


def _check_eviction(told: Told, settings: Settings) -> None:
    policy = told.get("maxmemory_policy", "noeviction")
    # The volatile ones take only keys that expire, of which Noria has none.
    if policy.startswith("allkeys"):
        raise ConfigError(
            f"{settings.address.shown} throws keys away when its memory is full (maxmemory-policy {policy}), and jobs "
            "with them: run `redis-cli config set maxmemory-policy noeviction`, and put it into redis.conf"
        )


def _check_rights(settings: Settings) -> Steps:
    """Everything is asked for before anything is written: a script that may do a part would leave half of its work."""
    (missing,) = yield [RIGHTS]
    if missing:
        raise ConfigError(forbidden(settings.address, [name.decode() for name in missing]))


def _check_keys(settings: Settings) -> Steps:
    """A script that comes upon a key of another program has written something."""
    found = yield [command("TYPE", settings.key(name)) for name in KEYS]
    for (name, kind), there in zip(KEYS.items(), found, strict=True):
        if there.decode() not in ("none", kind):
            raise ConfigError(foreign(settings.address, name))


def _check_persistence(told: Told, settings: Settings) -> str:
    if told.get("aof_enabled") == "1":
        return _LASTING
    if settings.persistence == "asked":
        log.warning(
            "%s keeps no append-only file: when it ends, jobs are lost. Run `redis-cli config set appendonly yes`, and "
            "put it into redis.conf; or add ?persistence=none to NORIA_URL if that is well",
            settings.address.shown,
        )
    return _PASSING
