"""`noria questions`: on a store, and through a front at a URL."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Commands, until, working
from tests.support.serving import serve

pytestmark = [pytest.mark.slow, pytest.mark.kill]

APP = """
from dataclasses import dataclass
from noria import Context, Noria

app = Noria()

@dataclass
class Form:
    code: str
    count: int = 1

@app.task(attempts=1)
async def login(ctx: Context) -> str:
    form = await ctx.ask("Code?", schema=Form)
    return form.code * form.count

@app.task(attempts=1)
async def hurry(ctx: Context) -> str:
    return await ctx.ask("Quick!", timeout=0.2)

@app.task(attempts=1)
async def password(ctx: Context) -> int:
    return len(await ctx.ask("Password?", secret=True))
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    yield from working(tmp_path, short_tmp, APP)


def kill_worker(noria: Commands) -> None:
    """Kill the worker, and wait until nobody runs."""
    [worker] = noria.json("workers", "list")
    os.kill(worker["pid"], signal.SIGKILL)


def asked(noria: Commands, task: str) -> tuple[str, str]:
    """A new job, and the id of its question."""
    job = noria.run("enqueue", task).stdout.strip()
    found = until(
        lambda: [each["id"] for each in noria.json("questions", "list") if each["job_id"] == job] or None
    )
    return job, found[0]


@pytest.mark.parametrize("far", [False, True])
def test_questions_are_listed_shown_and_answered_once(noria: Commands, far: bool) -> None:
    job, question = asked(noria, "login")
    where = ["--url", f"http://127.0.0.1:{serve(noria).port}"] if far else []

    def run(*words: str) -> tuple[int, str, str]:
        done = noria.run("questions", *words, *where)
        return done.returncode, done.stdout, done.stderr

    assert "Code?" in run("list")[1] and "login" in run("list")[1]
    shown = run("show", question)[1]
    assert all(text in shown for text in (job, "count  integer, may be left out", "code  string"))
    wrong = run("answer", question, "code=ab", "count=many")
    assert wrong[0] == 2 and "/count" in wrong[2]
    assert run("answer", question, "cod=ab")[0] == 2
    assert run("answer", question, "code=007", "count=2")[:2] == (0, f"{question}  answered\n")
    assert run("answer", question, "code=007", "count=2")[0] == 0
    assert run("answer", question, "code=008")[0] == 5
    assert run("answer", question, "--decline")[0] == 5
    assert until(lambda: noria.json("jobs", "show", job)[0]["final"] or None)
    assert noria.json("jobs", "show", job)[0]["result"] == "007007"
    assert run("show", "nothing")[0] == 4
    assert run("list", "--fail-empty")[0] == 8


def test_a_secret_is_read_from_stdin_and_shown_nowhere(noria: Commands) -> None:
    job, question = asked(noria, "password")
    refused = noria.run("questions", "answer", question, "hidden")
    assert refused.returncode == 2 and "write -" in refused.stderr

    done = noria.run("questions", "answer", question, "-", "--json", input="hidden\n")

    told = json.loads(done.stdout)
    assert (done.returncode, told["state"]) == (0, "answered") and "answer" not in told
    assert until(lambda: noria.json("jobs", "show", job)[0]["final"] or None)
    assert noria.json("jobs", "show", job)[0]["result"] == len("hidden")


def test_a_question_is_declined(noria: Commands) -> None:
    _, question = asked(noria, "login")

    done = noria.run("questions", "answer", question, "--decline", "--json")

    assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "declined")
    assert noria.run("questions", "answer", question, "--decline", "x").returncode == 2


@pytest.mark.parametrize("far", [False, True])
def test_each_way_in_which_a_question_is_over_is_told_apart(noria: Commands, far: bool) -> None:
    where = ["--url", f"http://127.0.0.1:{serve(noria).port}"] if far else []
    _, answered = asked(noria, "login")
    _, declined = asked(noria, "login")
    _, put_away = asked(noria, "login")
    cancelled_job, cancelled = asked(noria, "login")
    for words in ([answered, "code=1"], [declined, "--decline"], [put_away, "--cancel"]):
        assert noria.run(*where, "questions", "answer", *words).returncode == 0
    noria.run("jobs", "cancel", cancelled_job, "--yes")
    hurry = noria.run("enqueue", "hurry").stdout.strip()
    late = until(lambda: _closed(noria, hurry))
    until(lambda: all(noria.json("jobs", "show", job)[0]["final"] for job in (cancelled_job, hurry)))

    _, superseded = asked(noria, "login")
    kill_worker(noria)
    noria.start("worker").says("slots:", error=True)
    [following] = until(
        lambda: [each["id"] for each in noria.json("questions", "list") if each["id"] != superseded]
    )

    for question, state, words in (
        (answered, "answered", "has been answered already: answered"),
        (declined, "declined", "has been answered already: declined"),
        (put_away, "cancelled", "has been answered already: cancelled"),
        (late, "expired", "the time to answer"),
        (cancelled, "withdrawn", "does not wait any more"),
        (superseded, "superseded", f"answer {following}, which is asked in its place"),
    ):
        shown = json.loads(noria.run(*where, "--json", "questions", "show", question).stdout)
        told = noria.run(*where, "questions", "answer", question, "code=2")
        assert (shown["state"], told.returncode, words in told.stderr) == (state, 5, True), told.stderr


def _closed(noria: Commands, job: str) -> str:
    """The id of the question of a job, which was open so briefly that a list may not have had it."""
    attempts = noria.json("jobs", "show", job)[0].get("error") or {}
    found = re.search(r"nobody answered (\S+) within", attempts.get("message", ""))
    return found[1] if found else ""
