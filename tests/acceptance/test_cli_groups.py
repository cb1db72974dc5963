"""`noria groups`, and `noria enqueue --group`: on a store, and through a front at a URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Commands, commands
from tests.support.serving import serve

pytestmark = [pytest.mark.slow, pytest.mark.kill]

APP = """
from noria import Noria

app = Noria()
app.group("host", limit=1)
app.resource("tunnel", capacity=4)

@app.task(group=("host", "host"), needs=("tunnel",))
async def fetch(host: str) -> str:
    return host
"""


@pytest.fixture(params=["near", "far"])
def noria(request: pytest.FixtureRequest, tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_APP"] = "shop.py"
        # It tells of its tasks, and leaves their jobs alone.
        made.start("worker", "-q", "other").says("slots:", error=True)
        if request.param == "far":
            made.environment["NORIA_URL"] = f"http://127.0.0.1:{serve(made).port}"
        yield made


def ask(noria: Commands, *words: str) -> tuple[int, str, str]:
    done = noria.run(*words)
    return done.returncode, done.stdout, done.stderr


def test_groups_are_listed_with_their_places_and_what_waits(noria: Commands) -> None:
    empty = ask(noria, "groups", "list", "--fail-empty")
    first = noria.run("enqueue", "fetch", "host=a.example").stdout.strip()
    noria.run("enqueue", "fetch", "host=a.example")
    noria.run("enqueue", "fetch", "host=b.example")

    listed = noria.json("groups", "list")
    told = ask(noria, "groups", "list")[1]

    assert empty[0] == 8
    assert [(each["key"], each["taken"], each["limit"], each["waiting"]) for each in listed] == [
        ("a.example", 1, 1, 1),
        ("b.example", 1, 1, 0),
    ]
    assert listed[0]["holders"] == [first]
    assert "host=a.example" in told and "1 of 1" in told and first in told
    assert noria.json("groups", "list", "--family", "tenant") == []


def test_a_job_is_in_the_group_that_is_said(noria: Commands) -> None:
    id = noria.run("enqueue", "fetch", "host=a.example", "--group", "host=z=z.example").stdout.strip()
    noria.run("enqueue", "fetch", "-", "--group", "host=m.example", input='["a.example"]\n["b.example"]\n')

    [job] = noria.json("jobs", "show", id)
    keys = {each["key"]: each["taken"] + each["waiting"] for each in noria.json("groups", "list")}

    assert job["group"] == {"family": "host", "key": "z=z.example"}
    assert keys == {"z=z.example": 1, "m.example": 2}


@pytest.mark.parametrize("group", ["host", "host=", "=a", ""])
def test_a_group_that_is_no_family_and_key_is_refused(noria: Commands, group: str) -> None:
    code, out, error = ask(noria, "enqueue", "fetch", "host=a", "--group", group)

    assert (code, out) == (2, "")
    assert "--group is FAMILY=KEY" in error


def test_a_group_is_closed_and_opened(noria: Commands) -> None:
    id = noria.run("enqueue", "fetch", "host=a.example").stdout.strip()

    closed = ask(noria, "groups", "close", "host", "a.example", "--reason", "they asked us to stop")
    [line] = noria.json("groups", "list")
    why = ask(noria, "jobs", "explain", id)[1]
    opened = ask(noria, "groups", "open", "host", "a.example")

    assert closed[:2] == (0, "host=a.example  closed\n")
    assert line["closed"]["reason"] == "they asked us to stop"
    assert "host=a.example is closed" in why and "they asked us to stop" in why
    assert opened[:2] == (0, "host=a.example  open\n")
    assert noria.json("groups", "list")[0]["closed"] is None


def test_resources_are_listed_with_what_they_hold(noria: Commands) -> None:
    noria.run("enqueue", "fetch", "host=a.example")

    [line] = map(json.loads, noria.run("groups", "resources", "--json").stdout.splitlines())

    assert (line["name"], line["used"], line["capacity"]) == ("tunnel", 0, 4)
    assert "0 of 4" in ask(noria, "groups", "resources")[1]
