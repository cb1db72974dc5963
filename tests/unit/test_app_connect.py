"""From a URL to a store, and from the environment to folders."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria import ConfigError, Noria
from noria.app.config import backend_url, runtime_folder
from noria.app.connect import Sqlite, read_url, without_credentials


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
    ("url", "words"),
    [
        ("redis://h/0", "redis:// is not in this version; use sqlite:///"),
        ("postgresql://u:s3cret@h/db", "postgresql:// is not in this version"),
        ("amqp://u:s3cret@h", "amqp:// is not in this version"),
        ("mysql://u:s3cret@h/db", "'mysql://h/db' names no backend that exists"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite://u:s3cret@host/x.db", "names no file"),
        ("sqlite:///x.db#s3cret", "names no file"),
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


async def test_a_url_from_the_environment_is_checked_when_the_application_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NORIA_URL", "redis://u:s3cret@h")
    with pytest.raises(ConfigError, match="redis:// is not in this version"):
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
