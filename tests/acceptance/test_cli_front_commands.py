"""What only a front does is a command as well: on a store, by a front of the moment, and through one at a URL."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.commands import Commands, commands, until
from tests.support.serving import Front, serve
from tests.support.twice import APP, KEY, same, through, without_ids

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_APP"] = "shop.py"
        yield made


@pytest.fixture
def front(noria: Commands) -> Front:
    noria.run("enqueue", "fail", "-", input='["x"]\n["y"]\n["z"]\n')
    assert noria.run("worker", "--burst").returncode == 0
    noria.run("enqueue", "add", "a=2", "--delay", "1h")
    return serve(noria, NORIA_API_KEY=KEY)


def both(noria: Commands, front: Front) -> list[Run]:
    """The two ways to run a command."""
    return [noria.run, lambda *words: through(noria, front, *words)]


def test_looking_gives_the_same_output(noria: Commands, front: Front) -> None:
    for words in (
        ["workers"],
        ["workers", "list", "--fail-empty"],
        ["workers", "show", "nobody"],
        ["stats"],
        ["stats", "--json"],
        ["keys"],
        ["keys", "revoke", "nothing"],
        ["schema", "add"],
        ["schema", "nothing"],
        ["openapi", "--json"],
        ["bulk", "retry", "dead", "--preview"],
        ["bulk", "retry", "state:failed", "--preview", "--json"],
        ["bulk", "retry", "state:running", "--fail-empty"],
        ["bulk", "retry"],
        ["bulk", "move", "dead"],
        ["bulk", "set_priority", "dead", "--to", "high"],
        ["bulk", "retry", "dead"],
    ):
        near, far = (run(*words) for run in both(noria, front))
        assert (far.returncode, same(far.stdout)) == (near.returncode, same(near.stdout)), (words, far.stderr)
        assert same(far.stderr) == same(near.stderr), words
    assert len(noria.json("dead")) == 3


def test_a_document_needs_no_store(noria: Commands) -> None:
    document = json.loads(noria.run("openapi").stdout)
    assert "/v1/call/add" in document["paths"]
    assert json.loads(noria.run("schema", "add").stdout)["args_schema"]["required"] == ["a"]
    assert not (noria.folder / "test.db").exists()
    assert noria.run("stats").returncode == 3


def test_a_front_has_what_is_exposed_by_flag_or_environment(noria: Commands) -> None:
    noria.environment["NORIA_API_KEY"] = KEY
    shown = {"Authorization": f"Bearer {KEY}"}
    for front in (serve(noria, "--expose", "jobs, metrics"), serve(noria, NORIA_SERVE_EXPOSE="jobs,metrics")):
        assert [front.ask("GET", path, **shown)[0] for path in ("/v1/jobs", "/v1/stats")] == [200, 200]
        status, fields, problem = front.ask("GET", "/v1/workers", **shown)
        assert (status, problem["code"]) == (404, "not_found")
        assert fields["content-type"] == "application/problem+json"
        assert through(noria, front, "jobs", "list").returncode == 0
        assert through(noria, front, "workers", "list").returncode == 4


def test_a_role_that_does_not_exist_stops_the_front_at_its_start(noria: Commands) -> None:
    done = noria.run("serve", "--expose", "jobs,console")

    assert done.returncode == 2
    assert "one or more of jobs, answers, manage, metrics, docs" in done.stderr


def test_many_jobs_are_changed_in_one_go(noria: Commands, front: Front) -> None:
    for run in both(noria, front):
        done = run("bulk", "retry", "dead", "--yes")
        assert (done.returncode, done.stdout) == (0, "3 done, 0 skipped, 0 failed of 3\n"), done.stderr
        assert noria.run("worker", "--burst").returncode == 0
    moved = through(noria, front, "bulk", "move", "state:scheduled", "--to", "late", "--yes", "--json")
    assert json.loads(moved.stdout)["done"] == 1
    assert [job["queue"] for job in noria.json("jobs", "list", "state:scheduled")] == ["late"]
    assert noria.run("bulk", "discard", "dead", "error:bad x", input="n\n").returncode == 1
    assert len(noria.json("dead")) == 3


def test_more_than_were_counted_are_changed_only_if_that_is_said(noria: Commands, front: Front) -> None:
    folder = noria.folder / "few"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("from noria.front import limits\nlimits.COUNT = 2\n")

    def run(*words: str, **more: str) -> CompletedProcess[str]:
        return noria.run("bulk", "discard", "dead", *words, PYTHONPATH=str(folder), **more)

    refused = run("--yes")
    assert (refused.returncode, "more than 2 jobs match" in refused.stderr) == (2, True), refused.stderr
    assert len(noria.json("dead")) == 3
    assert "discard more than 2 jobs?" in run(input="n\n").stderr
    done = run("--yes", "--uncounted")
    assert (done.returncode, done.stdout) == (0, "3 done, 0 skipped, 0 failed of 3\n"), done.stderr


@pytest.mark.kill
def test_ctrl_c_stops_what_is_done_to_many(noria: Commands, front: Front) -> None:
    slow = noria.start(
        "bulk", "retry", "dead", "--rate", "0.1", "--yes",
        NORIA_URL=f"http://127.0.0.1:{front.port}", NORIA_API_KEY=KEY,
    )  # fmt: skip
    bearer = {"Authorization": f"Bearer {KEY}"}

    def operation() -> dict[str, object] | None:
        items = front.ask("GET", "/v1/operations", **bearer)[2]["items"]
        return items[0] if items and items[0]["done"] else None

    until(operation)
    slow.signal(signal.SIGINT)
    assert slow.ends() == 130
    stopped = operation()
    assert stopped is not None
    assert stopped["state"] == "cancelled"


def test_a_key_is_made_shown_once_used_and_revoked(noria: Commands, front: Front) -> None:
    for run in both(noria, front):
        made = run("keys", "create", "ci", "--scope", "jobs:read", "--queue", "mail", "--expires", "1h")
        key = made.stdout.strip()
        assert re.fullmatch(r"nor_\w+", key), made.stderr
        assert key not in made.stderr
        [listed] = [json.loads(line) for line in run("keys", "--json").stdout.splitlines()]
        assert (listed["name"], listed["scopes"], listed["queues"]) == ("ci", ["jobs:read"], ["mail"])
        assert key not in json.dumps(listed)
        assert len(through(noria, front, "jobs", "--json", key=key).stdout.splitlines()) == 3
        assert through(noria, front, "bulk", "retry", "dead", "--yes", key=key).returncode == 7
        assert through(noria, front, "keys", key=key).returncode == 7
        assert run("keys", "revoke", listed["id"]).returncode == 0
        until(lambda key=key: through(noria, front, "jobs", key=key).returncode == 7)  # type: ignore[misc]  # a loop's variable


def test_a_key_that_may_only_enqueue_can_call(noria: Commands, front: Front) -> None:
    noria.start("worker").says("slots:", error=True)
    key = noria.run("keys", "create", "caller", "--scope", "jobs:enqueue").stdout.strip()
    assert through(noria, front, "call", "add", "a=20", "b=22", key=key).stdout == "42\n"
    assert through(noria, front, "call", "shout", "text=3 times", key=key).stdout == "3 TIMES\n"


@pytest.mark.kill
def test_ctrl_c_ends_a_wait_at_once(noria: Commands, front: Front) -> None:
    url = f"http://127.0.0.1:{front.port}"
    waiting = noria.start("call", "add", "a=1", NORIA_URL=url, NORIA_API_KEY=KEY)
    until(lambda: noria.json("jobs", "list", "state:queued"))
    waiting.signal(signal.SIGINT)
    assert waiting.ends(15) == 130


def test_workers_are_seen_and_told(noria: Commands, front: Front) -> None:
    worker = noria.start("worker", "--name", "w1")
    worker.says("slots:", error=True)
    for run in both(noria, front):
        [seen] = [json.loads(line) for line in run("workers", "--json").stdout.splitlines()]
        assert (seen["name"], seen["pid"]) == ("w1", worker.process.pid)
        assert f"pid {seen['pid']}" in run("workers", "show", seen["id"]).stdout
        assert run("workers", "quiet", "w1").stdout == f"{seen['id']}  w1  was told to quiet\n"
        until(lambda run=run: '"state":"quiet"' in run("workers", "--json").stdout)  # type: ignore[misc]  # as above
        assert run("workers", "resume", "--all").returncode == 0
        until(lambda run=run: '"state":"active"' in run("workers", "--json").stdout)  # type: ignore[misc]  # as above
    assert noria.run("workers", "stop", "--all").returncode == 2
    assert through(noria, front, "workers", "stop", "--all", "--yes").returncode == 0
    assert worker.ends() == 0
    assert without_ids(noria.run("workers").stderr) == "no worker is live\n"


def test_shells_complete_commands_and_flags(noria: Commands) -> None:
    for shell in ("bash", "zsh", "fish"):
        script = noria.run("completion", shell).stdout
        assert "_NORIA_COMPLETE" in script

        def words(line: str, shell: str = shell) -> str:
            place = str(len(line.split(" ")) - 1)
            asked = {"_NORIA_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": place}
            if shell == "fish":
                asked["COMP_CWORD"] = line.split(" ")[-1]
            return noria.run(**asked).stdout

        assert {"jobs", "bulk"} <= set(re.findall(r"[\w-]+", words("noria ")))
        assert "--preview" in words("noria bulk --pre")
    assert noria.run("completion", "tcsh").returncode == 2
