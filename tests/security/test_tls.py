"""S24: who speaks TLS to a server has it prove who it is, unless the URL says otherwise in a word of its own."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from noria.app.connect import connect
from noria.backends.contract import Vitals, WorkerCard
from noria.clock import SystemClock
from noria.errors import ConfigError, Unavailable
from noria.ids import IdSource
from tests.support import postgres, redis
from tests.support.certificates import Certificate, certificate

CLOCK = SystemClock()


@pytest.fixture(scope="module")
def ours() -> Iterator[Certificate]:
    # Where a server that runs as another user can read it.
    with tempfile.TemporaryDirectory(prefix="n-tls-") as folder:
        Path(folder).chmod(0o755)
        yield certificate(Path(folder))


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Of another authority."""
    return certificate(tmp_path_factory.mktemp("strange"))


@pytest.fixture(scope="module")
def port(ours: Certificate) -> Iterator[int]:
    port = redis.free_port()
    options = {
        "tls-port": str(port),
        "tls-cert-file": str(ours.certificate),
        "tls-key-file": str(ours.key),
        "tls-ca-cert-file": str(ours.authority),
        "tls-auth-clients": "no",
    }
    with redis.private_server(**options):
        yield port


@pytest.fixture(scope="module")
def server(ours: Certificate) -> Iterator[postgres.PrivateServer]:
    with postgres.private_server() as server:
        key = ours.key.with_name("postgres.key")
        shutil.copy(ours.key, key)
        key.chmod(0o600)
        if os.getuid() == 0:
            shutil.chown(key, "postgres", "postgres")
        for name, value in (("ssl_cert_file", ours.certificate), ("ssl_key_file", key), ("ssl", "on")):
            postgres.ask(f"ALTER SYSTEM SET {name} = '{value}'", server.url)
        server.stop(signal.SIGINT)
        server.start()
        yield server


async def opens(url: str) -> None:
    """Open a backend, ask it something over its connection and its keeper's, and close it."""
    backend = connect(url, CLOCK, IdSource(CLOCK))
    try:
        await backend.start()
        assert (await backend.counts()).queues == {}
    finally:
        await backend.aclose()


async def refusal(url: str) -> str:
    with pytest.raises(ConfigError) as caught:
        await opens(url)
    return str(caught.value)


@pytest.mark.skipif(bool(redis.missing()), reason="there is no Redis on this machine")
class TestRedis:
    async def test_one_that_nobody_known_has_signed_is_refused_with_what_to_do(self, port: int) -> None:
        said = await refusal(f"rediss://:s3cret@127.0.0.1:{port}")

        assert "does not prove who it is" in said
        assert "?ca=FILE" in said
        assert "s3cret" not in said

    async def test_with_its_authority_named_it_is_used(self, port: int, ours: Certificate) -> None:
        await opens(f"rediss://127.0.0.1:{port}?ca={ours.authority}")

    async def test_one_that_another_authority_signed_is_refused(
        self, port: int, strange: Certificate
    ) -> None:
        assert "does not prove who it is" in await refusal(
            f"rediss://127.0.0.1:{port}?ca={strange.authority}"
        )

    async def test_one_whose_certificate_is_for_another_name_is_refused(
        self, port: int, ours: Certificate
    ) -> None:
        assert "as its certificate does" in await refusal(f"rediss://localhost:{port}?ca={ours.authority}")

    async def test_a_word_of_its_own_goes_without(self, port: int) -> None:
        await opens(f"rediss://127.0.0.1:{port}?verify=none")

    async def test_the_keeper_verifies_as_the_loop_does(self, port: int, ours: Certificate) -> None:
        backend = connect(f"rediss://127.0.0.1:{port}?ca={ours.authority}", CLOCK, IdSource(CLOCK))
        await backend.start()
        keeper = backend.control()
        try:
            card = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",))
            session = await backend.open(card)
            assert not keeper.renew(session, Vitals()).lost
        finally:
            keeper.close()
            await backend.aclose()

    async def test_a_file_that_holds_no_authority_is_named(self, port: int, tmp_path: Path) -> None:
        empty = tmp_path / "empty.pem"
        empty.touch()

        assert str(empty) in await refusal(f"rediss://127.0.0.1:{port}?ca={empty}")
        assert "missing.pem" in await refusal(f"rediss://127.0.0.1:{port}?ca={tmp_path / 'missing.pem'}")

    async def test_one_that_speaks_no_tls_is_told(self) -> None:
        with redis.private_server() as server, pytest.raises(Unavailable, match="may not speak TLS"):
            await opens(f"rediss://127.0.0.1:{server.port}")


@pytest.mark.skipif(bool(postgres.missing()), reason="there is no PostgreSQL on this machine")
class TestPostgres:
    async def test_one_that_nobody_known_has_signed_is_refused_with_what_to_do(
        self, server: postgres.PrivateServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        said = await refusal(f"{server.url}?sslmode=verify-full&password=s3cret")

        assert "sslrootcert=FILE" in said
        assert "s3cret" not in said

    async def test_with_its_authority_named_it_is_used(
        self, server: postgres.PrivateServer, ours: Certificate
    ) -> None:
        await opens(f"{server.url}?sslmode=verify-full&sslrootcert={ours.authority}")
        seen = postgres.ask("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", server.url)
        assert seen == [True]

    async def test_one_that_another_authority_signed_is_refused(
        self, server: postgres.PrivateServer, strange: Certificate
    ) -> None:
        said = await refusal(f"{server.url}?sslmode=verify-full&sslrootcert={strange.authority}")

        assert "signed by nobody whom we know" in said

    async def test_one_whose_certificate_is_for_another_name_is_refused(
        self, server: postgres.PrivateServer, ours: Certificate
    ) -> None:
        url = server.url.replace("127.0.0.1", "localhost")

        said = await refusal(f"{url}?sslmode=verify-full&sslrootcert={ours.authority}")

        assert "as its certificate does" in said

    async def test_one_that_speaks_no_tls_is_told(self, ours: Certificate) -> None:
        said = await refusal(f"{postgres.SERVER}?sslmode=verify-full&sslrootcert={ours.authority}")

        assert "turn TLS on there" in said
