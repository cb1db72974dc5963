"""Every command does and says the same through a front as on the store itself, or says why it cannot.

Two stores with the same story: one is used as it is, the other one through its front alone.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from noria.cli.main import COMMANDS, program, run
from tests.support.commands import Commands, until
from tests.support.serving import serve
from tests.support.twice import APP, KEY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("twins"),
]

DEAD = ("enqueue", "fail", "why=z", "--wait", "20")
PAUSE, RESUME = ("queues", "pause", "mail"), ("queues", "resume", "mail")
"""Around what is retried, or the worker may be quicker than the answer."""
LATER = ("enqueue", "add", "a=7", "--delay", "1h", "--queue", "late")


@dataclass(frozen=True)
class Row:
    """What is done with one command.

    Attributes:
        words: what follows the command, once for each time that it is called; "ID" is the newest job's id, "KEY" that
            of the newest key, and "_" in a word a space.
        first: commands that come before, on both stores themselves.
        last: commands that come behind, on both stores themselves.
        numbers: whether its numbers are the same; where they tell of time and processes, they are not.
    """

    words: tuple[str, ...]
    first: tuple[tuple[str, ...], ...] = ()
    last: tuple[tuple[str, ...], ...] = ()
    numbers: bool = True


SAME = {
    "enqueue": Row(
        ("add a=1", "add a=1 --json", "fail --wait 20", "add a=x", "nothing", "add a=1 --read-only")
    ),
    "call": Row(("add a=20 b=22", 'shout --args ["a"] --json', "fail why=x", "nothing")),
    "jobs list": Row(
        ("", "state:failed,succeeded --json", "task:none --fail-empty", "state:no", "--read-only")
    ),
    "jobs show": Row(("ID", "ID --json", "ffffffff"), first=(DEAD,)),
    "jobs explain": Row(("ID", "ID --json"), first=(LATER,)),
    "jobs retry": Row(("ID", "ID --json", "ID --note again --delay 1h"), first=(DEAD, PAUSE), last=(RESUME,)),
    "jobs move": Row(("ID --to late", "ID --to late --json", "ffffffff --to late"), first=(LATER,)),
    "jobs cancel": Row(("ID --note no", "ID --json"), first=(LATER,)),
    "jobs discard": Row(("ID --note seen", "ID --json"), first=(DEAD,)),
    "jobs copy": Row(("ID --delay 1h", "ID --queue late --delay 1h --json", "ffffffff"), first=(DEAD,)),
    "dead list": Row(("", "--group", "--json", "error:none --fail-empty")),
    "dead retry": Row(
        ("ID", "--all --yes", "--all", "--all --yes --json", "--all --query error:none --fail-empty"),
        first=(DEAD, PAUSE),
        last=(RESUME,),
    ),
    "dead discard": Row(("ID", "--all --query error:bad --yes", "--all --yes --json"), first=(DEAD, DEAD)),
    "bulk": Row(
        (
            "cancel queue:late --preview --read-only",
            "cancel queue:late --yes --read-only",
            "cancel queue:late --yes",
            "cancel queue:late --yes --json",
        ),
        first=(LATER,),
    ),
    "queues list": Row(("", "--json"), numbers=False),
    "queues pause": Row(("late --reason audit --for 10m", "late other --json", "a/b"), numbers=False),
    "queues limit": Row(
        (
            "late --concurrency 3 --max-age 10m",
            "late --lift concurrency --max-length 5 --json",
            "late --high-water default=5,other=3",
            "late --high-water late=5",
            "late --high-water other",
            "late --order newest --ageing 1m",
            "other --order newest",
            "late --lift speed",
            "late --lift all",
            "late",
            "a/b --concurrency 3",
        ),
        numbers=False,
    ),
    "questions list": Row(("", "--json", "--fail-empty")),
    "questions show": Row(("nothing", "nothing --json")),
    "questions answer": Row(("nothing x", "nothing x --json", "nothing x --read-only")),
    "groups list": Row(("", "--json", "--fail-empty")),
    "groups resources": Row(("", "--json")),
    "groups close": Row(("host a.example --reason audit", "host a.example --json", "a/b c")),
    "groups open": Row(
        ("host a.example", "host a.example --json"), first=(("groups", "close", "host", "a.example"),)
    ),
    "queues resume": Row(("late", "late --json"), first=(("queues", "pause", "late"),), numbers=False),
    "schedules list": Row(("", "--json", "--fail-empty", "--read-only")),
    "schedules show": Row(("yearly", "yearly --json", "nobody")),
    "schedules next": Row(
        (
            "yearly",
            "1h -n 2",
            "0_3_*_*_* --tz Asia/Shanghai",
            "0_3_*_*_* --json",
            "0_3_*_*_* --tz Mars",
            "1h --tz UTC",
            "nobody",
            "yearly -n 51",
            "yearly --read-only",
        )
    ),
    "schedules pause": Row(
        ("yearly --reason audit", "yearly --json", "nobody", "yearly --read-only"),
        last=(("schedules", "resume", "yearly"),),
    ),
    "schedules resume": Row(("yearly", "yearly --json", "nobody"), first=(("schedules", "pause", "yearly"),)),
    "schedules run": Row(("yearly", "yearly --json", "nobody")),
    "schedules backfill": Row(
        (
            "yearly --since 2025-06-01T00:00:00Z --until 2026-06-01T00:00:00Z",
            "yearly --since 2024-06-01T00:00:00Z --until 2025-06-01T00:00:00Z --json",
            "yearly --since 2026-06-01T00:00:00Z --until 2025-06-01T00:00:00Z",
            "yearly --since yesterday --until 2025-06-01T00:00:00Z",
            "yearly",
        ),
        first=(("schedules", "pause", "yearly"),),
        last=(("schedules", "resume", "yearly"),),
    ),
    "schedules delete": Row(("leap", "nobody", "yearly --read-only")),
    "workers list": Row(("", "--json"), numbers=False),
    "workers show": Row(("w1", "w1 --json", "nobody"), numbers=False),
    "workers quiet": Row(("w1", "nobody")),
    "workers resume": Row(("w1", "--all", "")),
    "workers stop": Row(("nobody", "--all")),
    "stats": Row(("", "--json"), numbers=False),
    "keys list": Row(("", "--json"), first=(("keys", "create", "one", "--scope", "jobs:read"),)),
    "keys create": Row(("two --scope jobs:read --expires 1h", "two --scope nothing")),
    "keys revoke": Row(("KEY", "nothing"), first=(("keys", "create", "three", "--scope", "jobs:read"),)),
    "openapi": Row(("", "--json")),
    "schema": Row(("add", "nothing")),
    "completion": Row(("bash", "tcsh")),
    "version": Row(("--json",)),
}
"""What is compared. A command that is neither here nor below fails the suite."""

APART = {
    "up": "it is the front, and the worker",
    "serve": "it is the front",
    "worker": "it works on the backend itself",
    "doctor": "it looks at the backend itself, and at this machine",
    "bench": "it measures a store of its own",
    "db status": "it looks at the backend itself",
    "db migrate": "it changes the backend itself",
}
"""Commands that refuse the URL of a front, and why."""


def leaves(command: click.Command, name: str = "") -> Iterator[str]:
    """All commands that do something."""
    if not isinstance(command, click.Group):
        yield name
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        found = command.get_command(context, each)
        assert found is not None
        yield from leaves(found, f"{name} {each}".strip())


def test_every_command_is_compared_or_says_why_not() -> None:
    assert sorted([*SAME, *APART]) == sorted(leaves(program))
    assert {name.split()[0] for name in [*SAME, *APART]} == set(COMMANDS)


# ---- the twins


class Said(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def said(noria: Commands, words: Sequence[str], **environment: str) -> Said:
    """Run a command in this process: there are many of them, and most of the time would be that of Python's start."""
    before, here, path = dict(os.environ), os.getcwd(), list(sys.path)
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    os.environ.update({**noria.environment, **environment})
    os.chdir(noria.folder)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run(words)
    finally:
        os.chdir(here)
        sys.path[:] = path
        sys.modules.pop("shop", None)
        os.environ.clear()
        os.environ.update(before)
    return Said(code, *(each.buffer.getvalue().decode() for each in (out, err) if not each.flush()))  # type: ignore[attr-defined]  # it is BytesIO


class Twin:
    """A store with a worker."""

    def __init__(self, stack: ExitStack) -> None:
        folder, runtime = (Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="n-"))) for _ in "ab")
        self.noria = Commands(folder, runtime)
        stack.callback(self.noria.close)
        self.noria.write("shop.py", APP)
        self.noria.environment["NORIA_APP"] = "shop.py"
        self.noria.start("worker", "--name", "w1").says("slots:", error=True)
        self.url = ""

    def serve(self) -> None:
        """From now on, commands go through a front."""
        self.url = f"http://127.0.0.1:{serve(self.noria, NORIA_API_KEY=KEY).port}"

    def named(self, word: str) -> str:
        """A word of a row, with the id that stands for it in this store."""
        if word not in ("ID", "KEY"):
            return word.replace("_", " ")
        asked = ("jobs", "list", "--limit", "1") if word == "ID" else ("keys", "list")
        lines = self.near(*asked, "--json").out.splitlines()
        return str(json.loads(lines[0 if word == "ID" else -1])["id"])

    def near(self, *words: str) -> Said:
        """One command on the store itself."""
        return said(self.noria, words)

    def settle(self) -> None:
        """Wait until its worker has done what there was to do."""
        live = ("jobs", "list", "state:queued,running,retrying", "--json")
        until(
            lambda: not self.owes() and not self.near(*live).out,
            what=lambda: f"live jobs: {self.near(*live)}",
        )

    def owes(self) -> bool:
        """Whether its timer is to fire for slots of the past: one after another, each when the last has ended."""
        timer = json.loads(self.near("schedules", "show", "yearly", "--json").out)
        return timer["paused"] is None and (timer["backlog"] > 0 or bool(timer["waiting_at"]))

    def run(self, *words: str) -> Said:
        """One command, as this twin is used: if it has a front, with nothing but that one's URL."""
        through = {"NORIA_URL": self.url, "NORIA_API_KEY": KEY, "NORIA_APP": ""} if self.url else {}
        before = self.near("keys", "--json").out
        done = said(self.noria, words, **through)
        for key in re.findall(r'"id":"(\w{8})"', before + self.near("keys", "--json").out):
            done = done._replace(out=done.out.replace(key, "KEY"))
        return done._replace(out=done.out.replace(str(self.noria.folder), "FOLDER"))


@pytest.fixture(scope="module")
def twins() -> Iterator[tuple[Twin, Twin]]:
    with ExitStack() as stack:
        near, far = Twin(stack), Twin(stack)
        far.serve()
        for twin in (near, far):
            twin.near(*DEAD)
            twin.near("call", "add", "a=1")
        yield near, far


_SPENT = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "ID"),
    (re.compile(r"\bnor_\w+"), "KEY"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?"), "WHEN"),
    (re.compile(r"\b\d{1,6}(?:\.\d+)? ?(?:ms|s|min|h|m|d)\b(?: ago)?|\bnow\b"), "TIME"),
    (re.compile(r"\b\d+\.\d+(?:e-?\d+)?\b"), "F"),
    (re.compile(r"\b[0-9a-f]{8,32}\b"), "ID"),
    (re.compile(r"pid \d+|\"pid\":\d+"), "PID"),
    (re.compile(r"[ ─-]{2,}"), " "),
)
_NUMBER = re.compile(r"[\d.,]+(?: ?(?:[KMG]i?B|B))?")


def alike(text: str, *, numbers: bool) -> str:
    """A text without ids, times and the width of columns, or without any number."""
    for pattern, word in _SPENT:
        text = pattern.sub(word, text)
    return text if numbers else re.sub(r"[ ─-]{2,}", " ", _NUMBER.sub("N", re.sub(r"\bF\b", "N", text)))


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        ("add a=20 b=22 --delay 1", 0, {"state": "succeeded", "result": 42}),
        (
            "fail why=x --delay 1",
            1,
            {
                "state": "failed",
                "error": {"message": "job ID (fail) failed after 1 counted attempt: ValueError: bad x"},
            },
        ),
        ("add a=1 --delay 1h --wait 1", 6, {"state": None}),
    ],
)
def test_a_job_is_followed_to_its_end_on_both(
    twins: tuple[Twin, Twin], words: str, code: int, last: dict[str, object]
) -> None:
    for twin in twins:
        done = twin.run("enqueue", *words.split(), "--follow", "--json")
        [id] = set(re.findall(r'"id":"([^"]+)"', done.out))
        lines = [json.loads(line) for line in done.out.replace(id, "ID").splitlines()]

        assert done.code == code, done.err
        assert lines[0].keys() == {"id", "state", "attempt", "max_attempts", "run_at", "worker"}
        assert lines[0]["state"] == "scheduled"
        assert {line["state"] for line in lines[1:-1]} <= {"queued", "running"}
        assert lines[-1] == {"id": "ID", **last}


def test_an_id_that_is_given_is_the_same_job_on_both(twins: tuple[Twin, Twin]) -> None:
    id = "01a22c52-24f3-77d5-802a-6309c183da88"
    for twin in twins:
        first, again = (twin.run("enqueue", "add", "a=1", "--id", id, "--json") for _ in range(2))
        other = twin.run("enqueue", "fail", "--id", id)

        assert [json.loads(each.out) for each in (first, again)] == [
            {"id": id, "created": True, "enqueued": "created"},
            {"id": id, "created": False, "enqueued": "existing"},
        ]
        assert (other.code, other.out) == (5, "")


def test_people_see_each_state_on_a_line_and_then_the_value(twins: tuple[Twin, Twin]) -> None:
    for twin in twins:
        done = twin.run("enqueue", "add", "a=1", "--delay", "1", "--follow")
        first, *_, end, value = done.out.splitlines()

        assert (done.code, value) == (0, "2")
        assert re.fullmatch(r"\d\d:\d\d:\d\d  scheduled  1/\d+", first), first
        assert re.fullmatch(r"\d\d:\d\d:\d\d  succeeded  1/\d+  on w1", end), end


def test_the_value_of_a_job_that_is_not_kept_is_heard_in_time_or_told_as_gone(
    twins: tuple[Twin, Twin],
) -> None:
    """Never as null, which is a value that a task may return."""
    for twin in twins:
        done = twin.run("enqueue", "add", "a=1", "--delay", "1", "--keep", "0", "--follow", "--json")

        assert done.code == 0, done.err
        last = json.loads(done.out.splitlines()[-1])
        assert last.get("gone", False) == ("nothing of it is kept" in done.err)
        assert last.get("gone") or last["result"] == 2
        told = twin.run("enqueue", "add", "a=1", "--delay", "1", "--keep", "0", "--follow")
        assert (told.code, "null" in told.out) == (0, False)


@pytest.mark.parametrize("name", SAME)
def test_a_command_does_and_says_the_same_through_a_front(twins: tuple[Twin, Twin], name: str) -> None:
    """Behind all that needs the workers: they are stopped on the way."""
    row = SAME[name]
    for twin in twins:
        for words in row.first:
            assert twin.near(*words).code in (0, 1), words
    for text in row.words:
        for twin in twins:
            if not row.last:
                twin.settle()
        near, far = (twin.run(*name.split(), *map(twin.named, text.split())) for twin in twins)
        assert far.code == near.code, (text, near.err, far.err)
        assert alike(far.out, numbers=row.numbers) == alike(near.out, numbers=row.numbers), text
        assert bool(near.err) == bool(far.err), (text, near.err, far.err)
        assert "Traceback" not in near.err + far.err
    for twin in twins:
        for words in row.last:
            assert twin.near(*words).code == 0
        twin.settle()


@pytest.mark.parametrize("name", APART)
def test_a_command_that_works_on_the_backend_itself_says_so(tmp_path: Path, name: str) -> None:
    done = Commands(tmp_path, tmp_path).run(*name.split(), NORIA_URL="http://127.0.0.1:1")
    assert done.returncode == 2, (APART[name], done.stderr)
    assert "not through a front" in done.stderr
