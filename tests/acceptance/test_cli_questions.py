"""`noria questions`: on a store, and through a front at a URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Commands, commands, until
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
async def password(ctx: Context) -> int:
    return len(await ctx.ask("Password?", secret=True))
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_APP"] = "shop.py"
        made.start("worker").says("slots:", error=True)
        yield made


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
