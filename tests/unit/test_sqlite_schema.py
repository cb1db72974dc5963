"""A file is created, brought up to date, or refused before anything in it is changed."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from noria.backends.sqlite import schema
from noria.backends.sqlite.connection import check_library
from noria.backends.sqlite.link import Link
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.statements import migrations
from noria.errors import ConfigError, Unavailable
from tests.support.manual import ManualClock

NEWEST = max(migrations())


def link(path: Path) -> Link:
    return Link(Settings(path=str(path), runtime=path.parent), ManualClock())


def opened(path: Path) -> Link:
    made = link(path)
    made.open()
    return made


def pragmas(path: Path) -> tuple[object, object]:
    connection = apsw.Connection(str(path))
    found = connection.pragma("application_id"), connection.pragma("user_version")
    connection.close()
    return found


def test_a_new_file_gets_the_newest_schema(tmp_path: Path) -> None:
    opened(tmp_path / "new.db").close()

    assert pragmas(tmp_path / "new.db") == (schema.APPLICATION_ID, NEWEST)


def test_an_empty_file_counts_as_new(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    opened(tmp_path / "empty.db").close()

    assert pragmas(tmp_path / "empty.db") == (schema.APPLICATION_ID, NEWEST)


def test_a_file_that_is_up_to_date_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "noria.db"
    opened(path).close()
    before = path.read_bytes()

    opened(path).close()

    assert path.read_bytes() == before


def test_several_may_create_it_at_once(tmp_path: Path) -> None:
    """L6. One does the work, the others find it done."""
    start, failures = threading.Barrier(6), []

    def create() -> None:
        start.wait()
        try:
            opened(tmp_path / "noria.db").close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert failures == []
    assert pragmas(tmp_path / "noria.db") == (schema.APPLICATION_ID, NEWEST)


def test_a_step_that_fails_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L6. As if the process had been killed in the middle; the next one completes it."""
    path = tmp_path / "noria.db"
    broken = {**migrations(), NEWEST: migrations()[NEWEST] + "\nCREATE TABLE jobs (twice);"}
    monkeypatch.setattr(schema, "migrations", lambda: broken)
    with pytest.raises(Exception, match="already exists"):
        opened(path)
    assert pragmas(path) == (0, 0)
    monkeypatch.undo()

    opened(path).close()

    assert pragmas(path) == (schema.APPLICATION_ID, NEWEST)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """L5. Rolling back ends before it can do harm."""
    path = tmp_path / "noria.db"
    opened(path).close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", NEWEST + 1)
    connection.close()

    with pytest.raises(ConfigError, match=f"schema {NEWEST + 1}.*up to {NEWEST}.*upgrade Noria"):
        opened(path)


@pytest.mark.parametrize("mark", [0, 0x12345678])
def test_the_database_of_another_program_is_refused_untouched(tmp_path: Path, mark: int) -> None:
    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute("create table customers (name)")
    connection.pragma("application_id", mark)
    connection.close()
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="another program"):
        opened(path)

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear customer, " * 1_000)
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="not a SQLite database at all"):
        opened(path)

    assert path.read_bytes() == before


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"nowhere.*does not exist: create it, or name"):
        opened(tmp_path / "nowhere" / "noria.db")


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.9.99"])
def test_a_library_that_damages_logs_is_refused(version: str) -> None:
    """B29."""
    with pytest.raises(ConfigError, match=rf"SQLite {version}.*upgrade apsw"):
        check_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "3.100.0", "4.0.0"])
def test_newer_libraries_are_fine(version: str) -> None:
    check_library(version)
