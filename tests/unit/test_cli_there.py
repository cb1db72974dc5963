"""Commands that look at a store say so if there is none, whatever backend it is on, and make none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from noria.cli import main
from noria.cli.exits import ExitCode
from noria.cli.target import is_there
from tests.support import postgres, redis


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store that nobody has made."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/noria.db"
    elif request.param == "postgres":
        with postgres.namespace() as name:
            yield f"{postgres.SERVER}?namespace={name}"
    elif redis.missing():
        pytest.skip(redis.missing())
    else:
        name = redis.fresh_namespace()
        at = redis.server(name)
        yield f"redis://127.0.0.1:{at.port}/{at.database}?namespace={name}"
        redis.drop_namespace(name)


@pytest.mark.parametrize("words", ["queues list", "jobs", "workers", "dead", "stats"])
def test_a_store_that_is_not_there_is_named_and_not_made(
    url: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main.run(["--url", url, *words.split()])

    said = capsys.readouterr().err
    assert code is ExitCode.UNREACHABLE
    assert "there is no store at" in said
    assert url.partition("namespace=")[2] in said
    assert not is_there(url)
