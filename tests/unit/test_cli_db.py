"""`noria db`: how the schema stands, and how it is brought up to date, on whatever backend it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from noria.cli import main
from noria.cli.exits import ExitCode
from tests.support.postgres import SERVER, namespace


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store that nobody has made."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/noria.db"
        return
    with namespace() as name:
        yield f"{SERVER}?namespace={name}"


def test_a_store_that_is_not_there_is_not_made_by_looking(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main.run(["--url", url, "db", "status"]) is ExitCode.FAILED
        assert "not made yet; a worker makes it, or `noria db migrate`" in capsys.readouterr().out


def test_a_store_is_made_and_then_up_to_date(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--url", url, "db", "migrate"]) is ExitCode.OK
    assert main.run(["--url", url, "db", "status"]) is ExitCode.OK

    assert capsys.readouterr().out.count("up to date") == 2


def test_programs_read_the_versions(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["--url", url, "--json", "db", "migrate"])

    found = json.loads(capsys.readouterr().out)
    assert found["version"] == found["newest"] > 0


def test_the_sql_is_printed_and_nothing_is_changed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["--url", url, "db", "migrate", "--sql"])
    text = capsys.readouterr().out

    assert main.run(["--url", url, "db", "status"]) is ExitCode.FAILED
    _run(url, text)
    assert main.run(["--url", url, "db", "status"]) is ExitCode.OK
    capsys.readouterr()
    main.run(["--url", url, "db", "migrate", "--sql"])
    assert capsys.readouterr().out == "-- the schema is up to date\n"


def test_commands_that_look_at_a_store_make_none(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--url", url, "queues", "list"]) is ExitCode.UNREACHABLE
    assert "there is no store at" in capsys.readouterr().err
    assert main.run(["--url", url, "db", "status"]) is ExitCode.FAILED


def _run(url: str, text: str) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute(text)
        connection.close()
    else:
        with psycopg.connect(SERVER, autocommit=True) as server:
            server.execute(text.encode())
