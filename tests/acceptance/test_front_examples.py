"""The examples about HTTP run as a user runs them, and what they tell is true."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Commands, Running, commands, until
from tests.support.serving import Front, serve
from tests.support.source import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.kill]

EXAMPLES = ROOT / "examples"
RPC = str(EXAMPLES / "rpc" / "app.py")


@pytest.fixture(name="commands")
def _commands(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    yield from commands(tmp_path, short_tmp)


def worker(commands: Commands, app: str) -> Running:
    running = commands.start("worker", app)
    running.says("slots:", error=True)
    return running


def told(example: str) -> list[tuple[str, str]]:
    """The commands of an example's README, each with what it prints."""
    [block] = re.findall(r"```text\n(.*?)```", (EXAMPLES / example / "README.md").read_text(), re.DOTALL)
    return [
        (command, printed) for command, _, printed in (part.partition("\n") for part in block.split("$ ")[1:])
    ]


def test_rpc_answers_as_its_readme_says(commands: Commands) -> None:
    worker(commands, RPC)
    front = serve(commands, RPC)
    curls = [(command, printed) for command, printed in told("rpc") if command.startswith("curl ")]
    assert len(curls) == 2
    for command, printed in curls:
        command = command.replace("127.0.0.1:8080", f"127.0.0.1:{front.port}").replace("curl ", "curl -s ", 1)
        run = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=30)
        assert run.stdout == printed.rstrip("\n"), command
    assert front.ask("GET", "/v1/call/sqrt?a=nine")[0] == 422


def test_rpc_works_on_a_front_without_the_code(commands: Commands) -> None:
    worker(commands, RPC)
    front = serve(commands)

    assert until(lambda: front.text("GET", "/v1/call/sqrt?a=9")[2] == "3.0" or None)
    assert front.text("POST", "/v1/call/cube", {"a": 3})[2] == "27"


def test_the_foreign_client_prints_what_its_readme_says(commands: Commands) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node here")
    worker(commands, RPC)
    front = serve(commands)
    until(lambda: front.ask("GET", "/v1/tasks/cube")[0] == 200 or None)
    run = subprocess.run(
        [node, str(EXAMPLES / "foreign_client" / "client.mjs"), f"http://127.0.0.1:{front.port}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    [expected] = [printed for command, printed in told("foreign_client") if command.startswith("node ")]

    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == expected.strip()


def test_the_front_door_works_mounted_in_a_fastapi_application(commands: Commands) -> None:
    worker(commands, str(EXAMPLES / "web_app" / "app.py"))
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "app:site", "--port", "0", "--timeout-graceful-shutdown", "5"],
        cwd=EXAMPLES / "web_app",
        env={**commands.environment, "NORIA_URL": f"sqlite:///{commands.folder}/test.db"},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "running on" in line)
        found = re.search(r":(\d+)", line.partition("http")[2])
        assert found is not None
        site = Front(process, int(found[1]))  # type: ignore[arg-type]  # only its port is used
        _uploads(site)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _uploads(site: Front) -> None:
    member = {"X_Member": "ann"}
    made = site.ask("POST", "/pictures/cat.png", **member)[2]
    job = site.ask("GET", f"/jobs/v1/jobs/{made['job']}?wait=20", **member)[2]
    assert (job["result"], job["tags"]) == ("cat.png@200px", ["ann"])
    assert job["links"]["self"] == f"/jobs/v1/jobs/{made['job']}"
    stream = site.text("GET", made["follow"], **member, Accept="text/event-stream")[2]
    assert "event: job" in stream
    assert (
        site.text("POST", "/jobs/v1/call/thumbnail", {"picture": "dog.png"}, **member)[2] == '"dog.png@200px"'
    )
    assert site.ask("GET", "/jobs/openapi.json", **member)[2]["servers"] == [{"url": "/jobs"}]
    assert "docs/docs.js" in site.text("GET", "/jobs/docs", **member)[2]
    assert site.text("GET", "/jobs/v1/jobs")[0] == 401
    assert json.loads(site.text("GET", "/jobs/nowhere", **member)[2])["code"] == "not_found"


def test_a_login_asks_for_the_code_and_goes_on_as_its_readme_says(commands: Commands) -> None:
    login = Login(commands)

    job = login.curl(login.enqueue)
    assert (job["state"], job["question"]["message"]) == ("asking", "Code 1 that was sent to 0151120964")
    question = job["question"]["id"]
    assert login.curl(login.answer.replace("120964", "12"), QUESTION=question)["code"] == "invalid_answer"
    [listed] = commands.json("questions", "list")
    assert listed["id"] == question
    answered = login.curl(login.answer, QUESTION=question)
    assert answered["state"] == "answered" and "answer" not in answered
    assert login.curl(login.result, JOB=job["id"]) == "0151120964 is in"


def test_a_login_goes_on_with_a_code_that_comes_by_the_link(commands: Commands) -> None:
    login = Login(commands)
    job = login.curl(login.enqueue)
    url = job["question"]["answer_url"]

    assert login.curl(login.link.replace("120964", "12"), ANSWER_URL=url)["code"] == "invalid_answer"
    assert login.curl(login.link, ANSWER_URL=url)["state"] == "answered"
    assert login.curl(login.result, JOB=job["id"]) == "0151120964 is in"


def test_a_login_whose_worker_is_killed_asks_anew_and_refuses_the_old_code(commands: Commands) -> None:
    login = Login(commands)
    job = login.curl(login.enqueue)
    old = job["question"]

    login.worker.signal(signal.SIGKILL)
    login.worker.ends()
    worker(commands, login.app)
    new = until(lambda: [each for each in commands.json("questions", "list") if each["id"] != old["id"]])[0]

    # The checkpoint is there: it says how many codes were sent.
    assert (new["message"], new["supersedes"]) == ("Code 2 that was sent to 0151120964", old["id"])
    refused = login.curl(login.answer, QUESTION=old["id"])
    assert (refused["status"], refused["code"], refused["following"]) == (
        410,
        "question_superseded",
        new["id"],
    )
    assert new["id"] in refused["detail"]
    assert login.curl(login.link, ANSWER_URL=old["answer_url"])["code"] == "question_superseded"
    by_shell = commands.run("questions", "answer", old["id"], "--decline")
    assert by_shell.returncode == 5 and new["id"] in by_shell.stderr
    stands = login.curl(f"curl http://127.0.0.1:8080{job['links']['self']}?include=attempts")
    assert (stands["state"], stands["starts"], stands["crashes"]) == ("asking", 2, 1)
    assert login.curl(login.answer, QUESTION=new["id"])["state"] == "answered"
    assert login.curl(login.result, JOB=job["id"]) == "0151120964 is in"


class Login:
    """The example `login_sms` as it runs, and the commands of its README."""

    def __init__(self, commands: Commands) -> None:
        self.app = str(EXAMPLES / "login_sms" / "app.py")
        self.worker = worker(commands, self.app)
        self._port = serve(commands, self.app).port
        readme = (EXAMPLES / "login_sms" / "README.md").read_text()
        [self.enqueue, self.answer, self.result, self.link] = re.findall(r"(?m)^\$ (curl .*)$", readme)

    def curl(self, command: str, **names: str) -> Any:
        """What a command of the README prints."""
        command = command.replace("127.0.0.1:8080", f"127.0.0.1:{self._port}").replace("curl ", "curl -s ", 1)
        for name, value in names.items():
            command = command.replace(name, value)
        done = subprocess.run(
            ["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=True
        )
        return json.loads(done.stdout)


def test_the_examples_leave_nothing_behind() -> None:
    assert not [path for path in EXAMPLES.rglob("*.db*") if path.is_file()]
    assert os.environ.get("NORIA_URL") is None
