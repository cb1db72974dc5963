"""`noria up` is the whole of it: a front and a worker that begin, work and end together."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.commands import Commands, commands, until
from tests.support.serving import APP, Front, read_all

pytestmark = [pytest.mark.kill, pytest.mark.slow]

GATED = (
    APP
    + """
import pathlib

@app.task
async def hold() -> str:
    pathlib.Path("holding").touch()
    while not pathlib.Path("gate").exists():
        await asyncio.sleep(0.01)
    return "let go"
"""
)
BARE = "import sys\nsys.modules['uvicorn'] = None  # as if it were not installed\n"


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("app.py", GATED)
        yield made


def up(noria: Commands, *words: str, **environment: str) -> Front:
    """Start it on any free port, if the words name none."""
    process = noria.start(
        "up", "app.py", *(() if "--port" in words else ("--port", "0")), *words, **environment
    )
    process.says("Ctrl-C drains")
    return Front(process, port_in(process.says("  api ")))


def port_in(line: str) -> int:
    found = re.search(r"http://[^\s:]+:(\d+)", line)
    assert found is not None, line
    return int(found[1])


def answers(front: Front) -> bool:
    try:
        return front.ask("GET", "/v1/call/sqrt?a=9")[2] == 3.0
    except (OSError, IndexError, ValueError):
        return False


def by_curl(front: Front) -> tuple[str, str]:
    """What the command of the greeting asks for, and what comes back."""
    words = shlex.split(front.process.says("  curl "))
    url = urlsplit(next(word for word in words if word.startswith("http")))
    body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
    path = f"{url.path}?{url.query}" if url.query else url.path
    status, _, text = front.text("GET" if body is None else "POST", path, body)
    assert status == 200, text
    return path, text


def test_what_the_greeting_says_to_try_works_both_ways(noria: Commands) -> None:
    front = up(noria)
    command = shlex.split(front.process.says("noria enqueue"))
    path, text = by_curl(front)
    assert path == "/v1/call/sqrt?a=1.5"
    assert noria.run(*command[1:]).stdout.strip() == text
    assert "either answers what sqrt returns (float)" in front.process.says("answers")
    assert isinstance(json.loads(text), float)
    assert front.text("GET", "/docs")[0] == 200
    assert "no key is needed" in front.process.says("  api ")


def test_without_a_safe_task_the_greeting_posts(noria: Commands) -> None:
    noria.write("app.py", APP.replace("@app.task(safe=True)", "@app.task(tags=['x'])"))
    path, text = by_curl(up(noria))
    assert (path, float(text)) == ("/v1/call/sqrt", 1.5**0.5)


def test_term_answers_who_waits_says_goodbye_on_streams_and_drains_the_worker(noria: Commands) -> None:
    front = up(noria)
    id = front.ask("POST", "/v1/jobs", {"task": "hold", "args": {}})[2]["id"]
    until((noria.folder / "holding").exists)
    with front.connect() as listener, ThreadPoolExecutor(1) as clients:
        head = f"GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        listener.sendall(head.encode())
        assert b"200 OK" in listener.recv(65_536)
        waiting = clients.submit(front.ask, "POST", "/v1/call/nap?wait=60", {"seconds": 3})
        until(lambda: [job for job in noria.json("jobs", "list") if job["task"] == "nap"])
        front.process.signal(signal.SIGTERM)
        status, _, job = waiting.result(10)
        assert (status, job["task"]) == (202, "nap"), "the caller is told where to ask"
        assert b"event: bye" in read_all(listener)
    assert front.process.process.poll() is None, "the job still runs"
    until(lambda: not answers(front))
    (noria.folder / "gate").touch()
    assert front.process.ends() == 0
    [found] = noria.json("jobs", "show", id)
    assert (found["state"], found["starts"]) == ("succeeded", 1)


def test_a_port_that_is_taken_gives_way_to_the_next(noria: Commands) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        one = up(noria, "--port", str(taken))
        two = up(noria, "--port", str(taken), "--processes", "1")
        for front in (one, two):
            assert front.port > taken
            assert f"({taken} is taken)" in front.process.says("  api ")
            until(lambda front=front: answers(front))
        assert one.port != two.port


@pytest.mark.parametrize("words", [(), ("--processes", "1")])
def test_without_the_extra_it_says_so_in_a_line_and_the_worker_works(
    noria: Commands, words: tuple[str, ...]
) -> None:
    noria.write("sitecustomize.py", BARE)
    running = noria.start("up", "app.py", *words, PYTHONPATH=str(noria.folder))
    running.says("Ctrl-C drains")
    assert "none; it needs uvicorn, which is not here: pip install noria[serve]" in running.says("  api ")
    assert not any("curl" in line for line in running.out)
    done = noria.run("enqueue", "cube", "a=3", "--wait", "20", "--app", "app.py")
    assert (done.returncode, done.stdout) == (0, "27\n"), done.stderr
    running.signal(signal.SIGTERM)
    assert running.ends() == 0
    assert not any("Traceback" in line for line in running.err)


def test_no_front_opens_no_port(noria: Commands) -> None:
    running = noria.start("up", "app.py", "--no-front")
    running.says("Ctrl-C drains")
    assert not any("  api " in line or "curl" in line for line in running.out)
    if sys.platform == "linux":
        assert not listening(running.process.pid)


def listening(pid: int) -> list[str]:
    """The sockets of a process that listen for TCP."""
    own = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()}
    rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]


@pytest.mark.parametrize("words", [(), ("--processes", "1")])
def test_others_are_let_in_with_a_key_only(noria: Commands, words: tuple[str, ...]) -> None:
    key = "k" * 24
    refused = noria.run("up", "app.py", "--host", "0.0.0.0", "--port", "0", *words)
    assert refused.returncode == 2
    assert "there is no key to ask for" in refused.stderr
    front = up(noria, "--host", "0.0.0.0", *words, NORIA_API_KEY=key)
    assert "with a key" in front.process.says("  api ")
    assert "Bearer $NORIA_API_KEY" in front.process.says("  curl ")
    assert key not in "".join(front.process.out)
    until(lambda: front.text("GET", "/v1/call/sqrt?a=9")[0] == 401 if reached(front) else False)
    assert front.text("GET", "/v1/call/sqrt?a=9", Authorization=f"Bearer {key}")[2] == "3.0"


def reached(front: Front) -> bool:
    try:
        front.connect().close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_beside_several_workers_the_front_is_a_process_that_is_kept_running(noria: Commands) -> None:
    front = up(noria, "--processes", "2")
    until(lambda: answers(front))
    first = serving(front)
    os.kill(first, signal.SIGKILL)
    until(lambda: serving(front) not in (0, first) and answers(front), what="no other took its place")
    front.process.says("front was ended by SIGKILL", error=True)
    front.process.signal(signal.SIGTERM)
    assert front.process.ends() == 0
    assert not reached(front)


def serving(front: Front) -> int:
    """The process id of the front below a supervisor; 0 if there is none just now."""
    own = front.process.process.pid
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == own and b"serve" in words:
            return int(path.parent.name)
    return 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_l9_the_front_of_a_killed_supervisor_answers_who_waits_and_ends(noria: Commands) -> None:
    front = up(noria, "--processes", "1")
    until(lambda: answers(front))
    pid = serving(front)
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(front.ask, "POST", "/v1/call/hold", {})
        until((noria.folder / "holding").exists)
        front.process.signal(signal.SIGKILL)
        assert waiting.result(10)[0] == 202
    (noria.folder / "gate").touch()
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())
    assert not reached(front)


def test_a_reload_gives_the_front_the_new_code_at_the_same_place(noria: Commands) -> None:
    front = up(noria, "--reload")
    until(lambda: answers(front))
    assert front.ask("GET", "/v1/tasks/newer")[0] == 404
    noria.write("app.py", GATED + "\n@app.task\nasync def newer() -> int:\n    return 8\n")

    def renewed() -> bool:
        return reached(front) and front.text("POST", "/v1/call/newer", {})[2] == "8"

    def look() -> bool:
        try:
            return renewed()
        except (OSError, IndexError):
            return False  # between the old one and the new one

    until(look, what="the front does not know the new task")
    front.process.signal(signal.SIGINT)
    assert front.process.ends() == 0
