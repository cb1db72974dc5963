"""`noria bench` on servers: in a namespace of its own, of which nothing is left. Nothing here is about speed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noria.backends.redis.drop import drop
from noria.backends.redis.settings import Settings
from noria.cli import benchstore
from noria.cli.flags import Flags
from noria.cli.output import Output
from noria.errors import Unavailable
from tests.support import postgres, redis
from tests.support.commands import Commands, commands

MEASURES = ["enqueue, one by one", "enqueue, 100 callers at once", "enqueue, batches of 1,000", "drain, with results",
            "round trip, one by one"]  # fmt: skip


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    yield from commands(tmp_path, short_tmp)


def bench(noria: Commands, url: str) -> dict[str, Any]:
    [report] = noria.json("--url", url, "bench", "--jobs", "50")
    assert report["wrong"] == 0
    assert [measure["name"] for measure in report["measures"]] == MEASURES
    assert all(measure["rate"] > 0 for measure in report["measures"])
    assert {"processor", "cores", "python", "durability", "latency"} <= report.keys()
    found: dict[str, Any] = report
    return found


@pytest.mark.slow
@pytest.mark.skipif(bool(redis.missing()), reason="there is no Redis on this machine")
def test_redis_is_measured_and_left_as_it_was(noria: Commands) -> None:
    with redis.private_server() as server, server.client() as client:
        client.ask("SET", "theirs", "1")
        report = bench(noria, f"redis://127.0.0.1:{server.port}?namespace=shop")

        assert client.ask("KEYS", "*") == [b"theirs"]
    assert report["server"].startswith("Redis ")
    assert report["settings"]["appendfsync"] == "everysec"


@pytest.mark.slow
@pytest.mark.skipif(bool(postgres.missing()), reason="there is no PostgreSQL on this machine")
def test_postgresql_is_measured_and_left_as_it_was(noria: Commands) -> None:
    with postgres.private_server() as server:
        report = bench(noria, f"{server.url}?namespace=shop")

        ours = "SELECT nspname::text FROM pg_namespace WHERE nspname ~ 'noria|shop'"
        assert postgres.ask(ours, server.url) == []
    assert report["server"].startswith("PostgreSQL ")
    assert report["settings"]["fsync"] == "off"


@pytest.mark.slow
@pytest.mark.skipif(bool(redis.missing()), reason="there is no Redis on this machine")
def test_people_see_the_server_and_its_settings(noria: Commands) -> None:
    with redis.private_server() as server:
        shown = noria.run("--url", f"redis://127.0.0.1:{server.port}", "bench", "--jobs", "20").stdout

    assert re.search(
        r"store +a namespace of its own; Redis \d+\.\d+\.\d+, appendonly yes, appendfsync everysec", shown
    )


@pytest.mark.skipif(bool(redis.missing()), reason="there is no Redis on this machine")
async def test_a_namespace_is_dropped_whole_and_its_neighbours_are_not() -> None:
    with redis.private_server() as server, server.client() as client:
        for number in range(3_000):
            client.ask("SET", f"{{shop}}:{number}", "1")
        for name in ("shop2", "sho", "shop.x"):
            client.ask("SET", f"{{{name}}}:key", "1")

        await drop(Settings(address=dataclasses.replace(server.address, namespace="shop")))

        assert sorted(client.ask("KEYS", "*")) == [b"{shop.x}:key", b"{shop2}:key", b"{sho}:key"]


def test_options_of_the_url_are_kept_and_the_namespace_is_another() -> None:
    for url in (
        "postgresql:///shop?namespace=mine&connect_timeout=7",
        "redis://127.0.0.1:1?persistence=none&namespace=mine",
    ):
        opened = []
        with pytest.raises(Unavailable), benchstore.apart(url, 1.0, Output(Flags())) as there:
            opened.append(there)
            raise Unavailable("the server is away")
        [there] = opened
        assert there.startswith(url.partition("?")[0] + "?")
        assert "namespace=noria_bench_" in there
        assert "mine" not in there
        assert "connect_timeout=7" in there or "persistence=none" in there


def test_a_namespace_that_cannot_be_dropped_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with benchstore.apart("redis://127.0.0.1:1", 1.0, Output(Flags())):
        pass

    assert re.search(
        r"namespace noria_bench_\w+ is left on the server: .*cannot be reached", capsys.readouterr().err
    )
