"""`noria enqueue --follow` and `--wait`: what a job says on its way, and a front that is killed under way."""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Commands, Running, until, working
from tests.support.serving import Front, serve

pytestmark = [pytest.mark.slow, pytest.mark.kill]

APP = """
import asyncio, pathlib
from noria import Context, Noria

app = Noria()

@app.task
async def pages(ctx: Context, first: int, last: int) -> str:
    for page in range(first):
        await ctx.emit({"page": page})
    await ctx.progress(0.5, "half")
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.02)
    for page in range(first, last):
        await ctx.emit({"page": page})
    return "all pages"

@app.task
async def login(ctx: Context) -> str:
    return await ctx.ask("Code?")
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    yield from working(tmp_path, short_tmp, APP)


def to_front(front: Front) -> list[str]:
    return ["--url", f"http://127.0.0.1:{front.port}"]


def again(noria: Commands, front: Front) -> None:
    """Start a front in the place of one that was killed."""
    noria.start("serve", "--port", str(front.port)).says("serving at", error=True)


def items(running: Running) -> list[Any]:
    """The partial results that a command has printed as JSON."""
    return [told["item"]["page"] for line in running.out if "item" in (told := json.loads(line))]


@pytest.mark.parametrize("far", [False, True])
def test_progress_and_partial_results_are_told_in_order_and_once(noria: Commands, far: bool) -> None:
    where = to_front(serve(noria)) if far else []
    noria.write("go", "")

    done = noria.run(*where, "enqueue", "pages", "first=2", "last=150", "--follow", "--json")
    people = noria.run(*where, "enqueue", "pages", "first=2", "last=3", "--follow")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["offset"] for line in lines if "item" in line] == list(range(150))
    assert [line["item"]["page"] for line in lines if "item" in line] == list(range(150))
    assert (done.returncode, lines[-1]["state"], lines[-1]["result"]) == (0, "succeeded", "all pages")
    assert people.returncode == 0, people.stderr
    assert 'item 2  {"page":2}' in people.stdout and people.stdout.splitlines()[-1] == "all pages"
    stood = [line.partition("  ")[2] for line in people.stdout.splitlines()]
    assert not [line for line, next in itertools.pairwise(stood) if line == next]


@pytest.mark.parametrize("far", [False, True])
def test_a_job_that_asks_says_which_question(noria: Commands, far: bool) -> None:
    where = to_front(serve(noria)) if far else []
    follower = noria.start(*where, "enqueue", "login", "--follow")
    question = follower.says("asking").rpartition("question ")[2]

    assert noria.run("questions", "answer", question, "007").returncode == 0
    assert follower.ends() == 0
    assert follower.out[-1] == "007"


def test_who_follows_through_a_front_that_is_killed_goes_on_at_the_next(noria: Commands) -> None:
    front = serve(noria)
    follower = noria.start(*to_front(front), "enqueue", "pages", "first=3", "last=6", "--follow", "--json")
    until(lambda: len(items(follower)) == 3)

    front.process.signal(signal.SIGKILL)
    front.process.ends()
    follower.says("trying again", error=True)
    noria.write("go", "")
    again(noria, front)

    assert follower.ends() == 0, follower
    assert items(follower) == [0, 1, 2, 3, 4, 5]
    assert json.loads(follower.out[-1])["result"] == "all pages"
    assert len([line for line in follower.err if "trying again" in line]) == 1
    assert len([line for line in follower.err if "it answers again" in line]) == 1


def test_who_waits_for_a_value_gets_it_from_the_next_front_and_the_job_is_one(noria: Commands) -> None:
    front = serve(noria)
    waiter = noria.start(*to_front(front), "call", "pages", "first=0", "last=0")
    until(lambda: noria.json("jobs", "list", "state:running"))

    front.process.signal(signal.SIGKILL)
    front.process.ends()
    waiter.says("trying again", error=True)
    again(noria, front)
    noria.write("go", "")

    assert waiter.ends() == 0, waiter
    assert waiter.out == ["all pages"]
    assert len(noria.json("jobs", "list")) == 1


def test_a_front_that_was_never_there_is_told_at_once(noria: Commands) -> None:
    front = serve(noria)
    front.process.signal(signal.SIGKILL)
    front.process.ends()

    done = noria.run(*to_front(front), "enqueue", "pages", "first=0", "last=0", "--follow")

    assert done.returncode == 3 and "cannot be reached" in done.stderr and "trying again" not in done.stderr
