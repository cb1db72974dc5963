"""Contexts as people use them: named on the command line, asked for production, through a front, under a supervisor."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import PROGRAM, Commands, commands
from tests.support.serving import serve
from tests.support.twice import APP, KEY

ENQUEUE = ("enqueue", "add", "a=1", "--app", "shop.py")


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    """A folder with an application and two contexts; NORIA_URL is not set."""
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_URL"] = ""
        made.environment["NORIA_CONTEXTS"] = str(
            made.write(
                "contexts.toml",
                """
                default = "near"
                contexts.near.url = "sqlite:///near.db"
                contexts.live.url = "sqlite:///live.db"
                contexts.live.production = true
                """,
            )
        )
        yield made


def answered(noria: Commands, answer: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that somebody at a terminal answers."""
    near, far = pty.openpty()
    try:
        os.write(near, answer.encode())
        return subprocess.run(
            [*PROGRAM, *words],
            cwd=noria.folder,
            env=noria.environment,
            stdin=far,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        os.close(near)
        os.close(far)


def test_production_is_asked_for_and_no_leaves_it_alone(noria: Commands) -> None:
    done = answered(noria, "n\n", *ENQUEUE, "--context", "live")

    assert done.returncode == 1
    assert "context live (sqlite:///live.db) is production. noria enqueue? [y/N]" in done.stderr
    assert done.stderr.endswith("nothing was changed\n")
    assert not (noria.folder / "live.db").exists()


def test_yes_goes_on(noria: Commands) -> None:
    assert answered(noria, "y\n", *ENQUEUE, "--context", "live").returncode == 0
    assert noria.run(*ENQUEUE, "--context", "live", "--yes").returncode == 0
    assert len(noria.json("jobs", "list", "--context", "live")) == 2


def test_the_lines_of_many_jobs_are_no_answer(noria: Commands) -> None:
    many = ("enqueue", "add", "-", "--app", "shop.py", "--context", "live")
    done = noria.run(*many, input='y\n{"a": 1}\n')

    assert (done.returncode, "say --yes" in done.stderr) == (2, True)
    assert noria.run(*many, "--yes", input='{"a": 1}\n').returncode == 0


def test_supervised_workers_are_not_asked_once_more(noria: Commands) -> None:
    noria.run(*ENQUEUE, "--context", "live", "--yes")
    done = noria.run("worker", "shop.py", "--processes", "1", "--burst", "--context", "live", "--yes")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("context live") == 1
    assert [each["state"] for each in noria.json("jobs", "--context", "live")] == ["succeeded"]


def test_the_front_beside_supervised_workers_has_the_same_target(noria: Commands) -> None:
    up = noria.start(
        "up", "shop.py", "--processes", "1", "--port", "0", "--context", "near", NORIA_CONTEXT="live"
    )
    url, *_ = re.findall(r"http://127.0.0.1:\d+", up.says("http://"))
    noria.run(*ENQUEUE, "--url", "sqlite:///near.db")
    asked = noria.json("jobs", "list", "--url", url)

    assert len(asked) == 1
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_a_context_may_be_a_front_with_its_key(noria: Commands) -> None:
    front = serve(noria, "--url", "sqlite:///near.db", NORIA_API_KEY=KEY)
    noria.write("far.key", KEY).chmod(0o600)
    noria.environment["NORIA_CONTEXTS"] = str(
        noria.write(
            "far.toml", f'[contexts.far]\nurl = "http://127.0.0.1:{front.port}"\nkey_file = "far.key"\n'
        )
    )
    done = noria.run("queues", "pause", "mail", "--context", "far")

    assert done.returncode == 0
    assert done.stderr == f"context far (http://127.0.0.1:{front.port})\n"
