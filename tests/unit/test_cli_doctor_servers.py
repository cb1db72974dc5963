"""What the doctor says about servers: of what it is told, and of real ones that are set up badly."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import psycopg
import pytest

from noria.app.connect import Postgres, Redis, read_url
from noria.backends.postgres.backend import settings_of
from noria.backends.postgres.database import Look, Transaction, look, migrate
from noria.cli import checks_both, checks_redis, checks_server
from noria.cli.finding import Finding, Mark
from noria.clock import SystemClock
from tests.support import postgres, redis

CLOCK = SystemClock()
GIB = 1024**3


def told(**fields: object) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items()}


def marks(findings: Any) -> dict[str, Mark]:
    return {finding.check: finding.mark for finding in findings}


@pytest.mark.parametrize(
    ("finding", "mark"),
    [
        (checks_redis.check_version(told(redis_version="7.0.15"), (7, 0)), Mark.OK),
        (checks_redis.check_version(told(redis_version="6.2.14"), (7, 0)), Mark.FAILED),
        (checks_redis.check_version({}, (7, 0)), Mark.FAILED),
        (checks_redis.check_role(told(role="master", redis_mode="standalone")), Mark.OK),
        (checks_redis.check_role(told(role="slave")), Mark.FAILED),
        (checks_redis.check_role(told(role="master", redis_mode="cluster")), Mark.FAILED),
        (checks_redis.check_eviction(told(maxmemory_policy="noeviction")), Mark.OK),
        (checks_redis.check_eviction(told(maxmemory_policy="volatile-lru")), Mark.OK),
        (checks_redis.check_eviction(told(maxmemory_policy="allkeys-lru")), Mark.FAILED),
        (checks_redis.check_memory(told(used_memory=GIB, maxmemory=0)), Mark.OK),
        (checks_redis.check_memory(told(used_memory=GIB, maxmemory=2 * GIB)), Mark.OK),
        (checks_redis.check_memory(told(used_memory=90 * GIB, maxmemory=100 * GIB)), Mark.WARNING),
        (checks_redis.check_memory(told(used_memory=99 * GIB, maxmemory=100 * GIB)), Mark.FAILED),
        (checks_redis.check_file(told(aof_enabled=1), "everysec", "asked"), Mark.OK),
        (checks_redis.check_file(told(aof_enabled=1), "no", "asked"), Mark.WARNING),
        (checks_redis.check_file(told(aof_enabled=1), None, "asked"), Mark.NOTE),
        (checks_redis.check_file(told(aof_enabled=0), "everysec", "asked"), Mark.WARNING),
        (checks_redis.check_file(told(aof_enabled=0), "everysec", "none"), Mark.NOTE),
        (checks_redis.check_rights(""), Mark.OK),
        (checks_redis.check_rights("its access rules forbid what Noria needs"), Mark.FAILED),
        (checks_redis.check_namespace("shop", True), Mark.OK),
        (checks_redis.check_namespace("shop", False), Mark.NOTE),
        (next(checks_redis.check_saving(told(rdb_last_bgsave_status="ok"))), Mark.OK),
        (next(checks_redis.check_saving(told(rdb_last_bgsave_status="err"))), Mark.FAILED),
        (next(checks_redis.check_saving(told(aof_last_write_status="err"))), Mark.FAILED),
        (checks_both.check_clock(0.4), Mark.OK),
        (checks_both.check_clock(-90.0), Mark.WARNING),
        (checks_both.check_latency(0.001), Mark.OK),
        (checks_both.check_latency(0.2), Mark.WARNING),
    ],
)
def test_each_check_judges_and_names_the_fix(finding: Finding, mark: Mark) -> None:
    assert finding.mark is mark
    assert bool(finding.fix) == (mark in (Mark.WARNING, Mark.FAILED))


def test_a_clock_that_is_off_is_told_with_its_side() -> None:
    assert "behind this machine's" in checks_both.check_clock(-90.0).text
    assert "ahead of this machine's" in checks_both.check_clock(90.0).text


HEALTHY = Look(
    synchronous_commit="on", fsync=True, full_page_writes=True, autovacuum=True, unvacuumed=[],
    connections=10, most=97, oldest=None, time=0.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "check", "mark"),
    [
        ({"synchronous_commit": "off"}, "durability", Mark.WARNING),
        ({"fsync": False}, "durability", Mark.FAILED),
        ({"full_page_writes": False}, "durability", Mark.FAILED),
        ({"autovacuum": False}, "autovacuum", Mark.WARNING),
        ({"unvacuumed": ["jobs"]}, "autovacuum", Mark.WARNING),
        ({"connections": 80}, "connections", Mark.WARNING),
        ({"connections": 96}, "connections", Mark.FAILED),
        ({"oldest": Transaction(7, "psql", "idle in transaction", 600.0)}, "transactions", Mark.WARNING),
        ({"ahead": 60.0}, "clock", Mark.WARNING),
        ({"latency": 0.5}, "latency", Mark.WARNING),
    ],
)
def test_each_fault_of_a_postgresql_server_is_one_finding_with_its_fix(
    changes: dict[str, Any], check: str, mark: Mark
) -> None:
    found = {each.check: each for each in checks_server.judge(msgspec.structs.replace(HEALTHY, **changes))}

    assert found.pop(check).mark is mark
    assert {each.mark for each in found.values()} == {Mark.OK}


def test_a_healthy_postgresql_server_has_no_findings_that_need_a_fix() -> None:
    assert set(marks(checks_server.judge(HEALTHY)).values()) == {Mark.OK}


# ---- real servers


def redis_place(port: int, password: str = "") -> Redis:
    store = read_url(f"redis://:{password}@127.0.0.1:{port}" if password else f"redis://127.0.0.1:{port}")
    assert isinstance(store, Redis)
    return store


@pytest.mark.skipif(bool(redis.missing()), reason="there is no Redis on this machine")
class TestRedis:
    def test_a_server_that_is_set_up_well_is_well_and_stays_as_it_was(self) -> None:
        with redis.private_server() as server:
            found = marks(checks_redis.check_redis(redis_place(server.port), 5.0))
            with server.client() as client:
                keys = client.ask("DBSIZE")

        assert found.pop("namespace") is Mark.NOTE
        assert set(found.values()) == {Mark.OK}
        assert keys == 0

    @pytest.mark.parametrize(("rules", "more"), [("+@all", True), ("&* +@all -info", False)])
    def test_rights_that_a_user_lacks_are_told_and_no_namespace_is_made(self, rules: str, more: bool) -> None:
        with redis.private_server() as server, server.client() as client:
            client.ask("ACL", "SETUSER", "shop", "on", ">pw", "~*", *rules.split())
            store = read_url(f"redis://shop:pw@127.0.0.1:{server.port}")
            assert isinstance(store, Redis)
            found = list(checks_redis.check_redis(store, 5.0))
            keys = client.ask("DBSIZE")

        (rights,) = (each for each in found if each.check == "rights")
        assert rights.mark is Mark.FAILED
        assert "the channels &{noria}:*" in rights.text
        assert ("server" in marks(found)) == more
        assert keys == 0

    def test_one_that_throws_jobs_away_and_keeps_nothing_is_told(self) -> None:
        options = {"appendonly": "no", "maxmemory": "64mb", "maxmemory-policy": "allkeys-lru"}
        with redis.private_server(**options) as server:
            found = marks(checks_redis.check_redis(redis_place(server.port), 5.0))

        assert found["eviction"] is Mark.FAILED
        assert found["append-only file"] is Mark.WARNING
        assert found["memory"] is Mark.OK

    def test_one_whose_memory_is_full_is_told(self) -> None:
        with redis.private_server(maxmemory="800kb") as server:
            found = marks(checks_redis.check_redis(redis_place(server.port), 5.0))

        assert found["memory"] is Mark.FAILED

    def test_a_replica_is_told_with_its_primary(self) -> None:
        with redis.private_server() as primary, redis.private_server() as server:
            with server.client() as client:
                client.ask("REPLICAOF", "127.0.0.1", primary.port)
            found = list(checks_redis.check_redis(redis_place(server.port), 5.0))

        [role] = [each for each in found if each.check == "role"]
        assert role.mark is Mark.FAILED
        assert f"127.0.0.1:{primary.port}" in role.fix

    def test_one_that_could_not_save_is_told(self) -> None:
        # No snapshot can be written where a folder has its name.
        with redis.private_server(dbfilename="appendonlydir") as server:
            with server.client() as client:
                client.ask("BGSAVE")
                while b"rdb_bgsave_in_progress:1" in client.ask("INFO", "persistence"):
                    pass
            found = marks(checks_redis.check_redis(redis_place(server.port), 5.0))

        assert found["saving"] is Mark.FAILED

    def test_a_wrong_password_is_one_finding_that_does_not_show_it(self) -> None:
        with redis.private_server(requirepass="right") as server:
            found = list(checks_redis.check_redis(redis_place(server.port, "wr0ng"), 5.0))

        assert found[-1].mark is Mark.FAILED
        assert "password" in found[-1].text
        assert not any("wr0ng" in each.text + each.fix for each in found)

    def test_a_driver_that_is_missing_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "hiredis", None)
        [found] = checks_redis.check_redis(redis_place(1), 5.0)

        assert found.mark is Mark.FAILED
        assert "noria[redis]" in found.fix


@pytest.mark.skipif(bool(postgres.missing()), reason="there is no PostgreSQL on this machine")
class TestPostgres:
    def test_looking_at_a_server_makes_no_schema(self) -> None:
        name = postgres.fresh_namespace()
        store = read_url(f"{postgres.SERVER}?namespace={name}")
        assert isinstance(store, Postgres)

        found = marks(checks_server.check_server(store, 10.0))

        assert found["schema"] is Mark.NOTE
        assert postgres.ask(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{name}'") == [0]

    def test_a_server_that_is_set_up_badly_is_seen_as_it_is(self) -> None:
        with postgres.private_server() as server:
            settings = settings_of(server.url, "noria", timeout=10.0)
            migrate(settings, CLOCK)
            for text in (
                "ALTER SYSTEM SET synchronous_commit = off",
                "ALTER SYSTEM SET autovacuum = off",
                "SELECT pg_reload_conf()",
                "ALTER TABLE noria.jobs SET (autovacuum_enabled = false)",
            ):
                postgres.ask(text, server.url)
            with psycopg.connect(server.url, application_name="forgetful") as somebody:
                somebody.execute("SELECT 1")
                seen = look(settings, CLOCK)
                pid = somebody.info.backend_pid

        assert (seen.synchronous_commit, seen.fsync, seen.autovacuum) == ("off", False, False)
        assert seen.unvacuumed == ["jobs"]
        assert seen.oldest is not None
        assert (seen.oldest.pid, seen.oldest.program) == (pid, "forgetful")
        assert seen.oldest.state == "idle in transaction"
        assert 0 < seen.connections < seen.most
        assert abs(seen.ahead) < 5

    def test_a_clock_that_is_off_is_seen(self) -> None:
        class Late(SystemClock):
            def wall(self) -> float:
                return super().wall() - 100

        seen = look(settings_of(postgres.SERVER, "noria", timeout=10.0), Late())

        assert 95 < seen.ahead < 105
