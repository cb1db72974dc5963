"""From a URL to a store, and from the environment to folders."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from noria import ConfigError, Noria
from noria.app.config import backend_url, runtime_folder
from noria.app.connect import Postgres, Sqlite, read_url, without_credentials
from noria.backends.redis import Address
from noria.backends.sqlite import SqliteBackend
from noria.clock import SystemClock
from noria.ids import IdSource


@pytest.mark.parametrize(
    ("url", "path", "synchronous"),
    [
        ("sqlite:///noria.db", "noria.db", "full"),
        ("sqlite:///data/noria.db", "data/noria.db", "full"),
        ("sqlite:////var/lib/noria.db", "/var/lib/noria.db", "full"),
        ("sqlite:////a%20b/%3F.db?synchronous=normal", "/a b/?.db", "normal"),
        ("sqlite:///x.db?synchronous=FULL", "x.db", "full"),
    ],
)
def test_a_url_names_a_file_and_how_it_is_opened(url: str, path: str, synchronous: str) -> None:
    assert read_url(url) == Sqlite(Path(path), synchronous)


@pytest.mark.parametrize(
    ("url", "address", "persistence"),
    [
        ("redis://h", Address(host="h"), "asked"),
        ("redis://:p%40ss@h:7000/3", Address(host="h", port=7000, database=3, password="p@ss"), "asked"),
        ("redis://ann:pw@h", Address(host="h", username="ann", password="pw"), "asked"),
        (
            "rediss://h/0?namespace=shop&persistence=none",
            Address(host="h", tls=True, namespace="shop"),
            "none",
        ),
    ],
)
def test_a_url_names_a_redis_server_and_what_is_expected_of_it(
    url: str, address: Address, persistence: str
) -> None:
    assert read_url(url) == (address, persistence)


def test_stores_on_servers_have_folders_of_their_own(
    monkeypatch: pytest.MonkeyPatch, short_tmp: Path
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    urls = ["redis://h", "redis://:pw@h", "redis://h/1", "redis://h?namespace=a", "redis://g"]

    folders = [runtime_folder(read_url(url).path) for url in urls]

    assert folders[0] == folders[1]
    assert len(set(folders)) == 4


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://u:s3cret@/0", "names no server"),
        ("redis://u:s3cret@h/name", "names no server"),
        ("redis://u:s3cret@h:port/0", "names no server"),
        ("redis://u:s3cret@h/0?namespace=a%20b", "namespace"),
        ("redis://u:s3cret@h/0?persistence=full", "persistence can only be none"),
        ("redis://u:s3cret@h/0?ttl=3", "redis:// has no option 'ttl'"),
        ("postgresql://u:s3cret@h/db?namespace=pg_x", "the namespace cannot be 'pg_x'"),
        ("postgresql://u:s3cret@h/db?namespace=A", "the namespace cannot be 'A'"),
        ("postgresql://u:s3cret@h/db?colour=s3cret", "postgresql:// has no option 'colour'"),
        ("postgresql://u:s3cret@h/db?connect_timeout=s3cret", "connect_timeout must be a whole number"),
        ("postgresql://u:s3cret@h/db?port=s3cret", "port must be a whole number"),
        ("postgresql://u:s3cret@h/db?namespace=a&namespace=a", "says namespace= twice"),
        ("redis://u:s3cret@h/0?namespace=a&namespace=b", "says namespace= twice"),
        ("sqlite:///x.db?synchronous=full&synchronous=normal", "says synchronous= twice"),
        ("amqp://u:s3cret@h", "amqp:// is not in this version"),
        ("mysql://u:s3cret@h/db", "'mysql://h/db' names no backend that exists"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite://u:s3cret@host/x.db", "names no file"),
        ("sqlite:///x.db#s3cret", r"fragment, which no backend has; write a # in a name as %23"),
        ("sqlite://#s3cret", "fragment"),
        ("sqlite:///x%00.db", "names no file"),
        ("sqlite:///x.db?sync=normal", "no option 'sync'; did you mean 'synchronous'"),
        ("sqlite:///x.db?synchronous=off", "must be one of full, normal"),
        ("noria.db", "named by a URL"),
        ("http://[s3cret", "malformed"),
    ],
)
def test_a_url_that_is_wrong_is_refused_without_its_password(url: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Noria(url)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_names_a_database_and_a_schema_in_it(scheme: str) -> None:
    store = read_url(f"{scheme}://u:s3cret@h:5433/shop?namespace=billing&sslmode=require")

    assert isinstance(store, Postgres)
    assert (store.namespace, store.file) == ("billing", None)
    assert store.conninfo == f"{scheme}://u:s3cret@h:5433/shop?sslmode=require"
    assert "s3cret" not in str(store.path)


@pytest.mark.parametrize("space", ["%20", "+"])
def test_options_reach_libpq_as_they_were_written(space: str) -> None:
    options = f"options=-c%20a%3D5&namespace=billing&application_name=my{space}app&password=a%2Bb"
    store = read_url(f"postgresql://h/shop?{options}")

    assert isinstance(store, Postgres)
    told = conninfo_to_dict(store.conninfo)
    assert (told["options"], told["password"]) == ("-c a=5", "a+b")
    assert told["application_name"] == ("my app" if space == "%20" else "my+app")
    assert store.namespace == "billing"


def test_a_url_names_a_database_without_saying_a_schema() -> None:
    store = read_url("postgresql:///shop")

    assert isinstance(store, Postgres)
    assert store.namespace == "noria"


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_raises_anything_but_a_config_error(scheme: str, rest: str) -> None:
    for url in (f"{scheme}://{rest}", f"sqlite:///{rest}", rest):
        without_credentials(url)
        with suppress(ConfigError):
            read_url(url)


def test_an_application_shows_its_store_without_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(Noria("sqlite:///x.db")) == "<Noria sqlite:///x.db, 0 tasks>"
    monkeypatch.setenv("NORIA_URL", "redis://u:s3cret@h:1/0?password=s3cret")
    assert repr(Noria()) == "<Noria redis://h:1/0, 0 tasks>"


def test_the_environment_names_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backend_url() == "sqlite:///noria.db"
    monkeypatch.setenv("NORIA_URL", "sqlite:///other.db")
    assert backend_url() == "sqlite:///other.db"


def test_an_application_says_where_its_backend_is(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Noria()
    assert app.where == "sqlite:///noria.db"
    monkeypatch.setenv("NORIA_URL", "sqlite:///other.db")
    assert app.where == "sqlite:///other.db"
    app.url = "sqlite:///mine.db"
    assert app.where == "sqlite:///mine.db"


def test_an_application_that_was_given_its_backend_has_no_url() -> None:
    clock = SystemClock()
    backend = SqliteBackend(Path("x.db"), runtime=Path("unused"), clock=clock, ids=IdSource(clock))
    assert Noria(backend=backend).where is None


async def test_a_url_from_the_environment_is_checked_when_the_application_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NORIA_URL", "amqp://u:s3cret@h")
    with pytest.raises(ConfigError, match="amqp:// is not in this version"):
        async with Noria():
            pass


def test_one_backend_is_enough() -> None:
    with pytest.raises(ConfigError, match="not both"):
        Noria("sqlite:///x.db", backend=object())


# ---- the runtime folder


def test_everyone_who_opens_a_file_meets_in_one_private_folder(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    (short_tmp / "link.db").symlink_to(short_tmp / "store.db")
    monkeypatch.chdir(short_tmp)
    folder = runtime_folder(short_tmp / "store.db")
    assert folder == runtime_folder(Path("store.db")) == runtime_folder(short_tmp / "link.db")
    assert folder != runtime_folder(short_tmp / "other.db")
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_the_session_s_folder_is_used_if_there_is_one(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_tmp))
    assert runtime_folder(Path("x.db")).parent == short_tmp / "noria"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "not/absolute")
    assert runtime_folder(Path("x.db")).parent == Path(f"/tmp/noria-{os.getuid()}")


def test_a_folder_that_others_may_enter_is_refused(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    (short_tmp / "run").mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="only user"):
        runtime_folder(Path("x.db"))


def test_a_link_in_place_of_the_folder_is_refused(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (short_tmp / "real").mkdir(mode=0o700)
    (short_tmp / "run").symlink_to(short_tmp / "real")
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    with pytest.raises(ConfigError, match="only user"):
        runtime_folder(Path("x.db"))


def test_a_folder_that_cannot_be_made_is_named(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (short_tmp / "file").touch()
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "file" / "run"))
    with pytest.raises(ConfigError, match="cannot be made"):
        runtime_folder(Path("x.db"))


def test_a_path_too_long_for_sockets_is_refused(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / ("x" * 80)))
    with pytest.raises(ConfigError, match="too long"):
        runtime_folder(Path("x.db"))
