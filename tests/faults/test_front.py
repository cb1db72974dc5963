"""The front door as a process: killed, stopped, shared, and shouted at on raw sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
import select
import signal
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from noria.cli.signals import ECHO
from noria.front import limits
from noria.front.problem import CODES
from tests.support.commands import Commands, commands, until
from tests.support.serving import APP, Front, house, read_all, serve

pytestmark = pytest.mark.kill


@pytest.fixture(name="commands")
def _commands(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    yield from commands(tmp_path, short_tmp)


@pytest.fixture
def here(commands: Commands) -> Iterator[Commands]:
    with house(commands):
        yield commands


def jobs(front: Front) -> list[str]:
    return [job["id"] for job in front.ask("GET", "/v1/jobs?limit=200")[2]["items"]]


# ---- the same request twice


DIES = """
import os, pathlib, signal
import noria.front.jobs as jobs

answer = jobs.answer

async def dies(*args, **kwargs):
    if pathlib.Path("die").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return await answer(*args, **kwargs)

jobs.answer = dies
"""


def test_a_front_that_dies_between_the_write_and_the_reply_leaves_one_job(here: Commands) -> None:
    here.write("sitecustomize.py", DIES)
    here.write("die", "")
    front = serve(here, "app.py", PYTHONPATH=str(here.folder))
    body = {"task": "cube", "args": {"a": 3}}
    with front.connect() as client:
        data = json.dumps(body).encode()
        client.sendall(
            b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(data), data)
        )
        assert read_all(client) == b"", "the client saw no answer"
    assert front.process.ends() == -signal.SIGKILL

    again = serve(here, "app.py")
    status, headers, job = again.ask("POST", "/v1/jobs?wait=20", body, Idempotency_Key="k")
    assert (status, job["result"], headers["idempotent-replayed"]) == (200, 27, "true")
    assert jobs(again) == [job["id"]]


def test_fifty_clients_whose_front_dies_at_the_write_all_repeat_and_get_one_job(here: Commands) -> None:
    here.write("sitecustomize.py", DIES)
    here.write("die", "")
    front = serve(here, "app.py", PYTHONPATH=str(here.folder))
    body = {"task": "cube", "args": {"a": 3}}

    def lost(_: int) -> bool:
        try:
            front.ask("POST", "/v1/jobs?wait=20", body, Idempotency_Key="k")
        except (OSError, IndexError):  # cut off, in the middle of nothing or before it could connect
            return True
        return False

    with ThreadPoolExecutor(50) as clients:
        assert all(clients.map(lost, range(50))), "nobody has had an answer"
    assert front.process.ends() == -signal.SIGKILL

    again = [serve(here, "app.py"), serve(here)]

    def repeat(number: int) -> tuple[int, str, int, str]:
        status, headers, job = again[number % 2].ask("POST", "/v1/jobs?wait=30", body, Idempotency_Key="k")
        return status, job["id"], job["result"], headers.get("idempotent-replayed", "")

    with ThreadPoolExecutor(50) as clients:
        answers = set(clients.map(repeat, range(50)))
    [(status, id, result, replayed)] = answers
    assert (status, result, replayed) == (200, 27, "true"), "the job had been written before the front died"
    assert jobs(again[0]) == [id]


def test_fifty_clients_with_one_key_at_two_fronts_get_one_job(here: Commands) -> None:
    fronts = [serve(here, "app.py"), serve(here)]

    def ask(number: int) -> tuple[int, str, int]:
        status, _, job = fronts[number % 2].ask(
            "POST", "/v1/jobs?wait=30", {"task": "cube", "args": {"a": 3}}, Idempotency_Key="k"
        )
        return status, job["id"], job["result"]

    with ThreadPoolExecutor(50) as clients:
        answers = set(clients.map(ask, range(50)))

    assert len(answers) == 1 and next(iter(answers))[::2] == (200, 27)
    assert len(jobs(fronts[0])) == 1


def test_what_one_front_accepts_the_other_waits_for(here: Commands) -> None:
    one, other = serve(here, "app.py"), serve(here)
    slowest = 0.0
    for number in range(20):
        id = one.ask("POST", "/v1/jobs", {"task": "nap", "args": {"seconds": 0.1}})[2]["id"]
        began = time.monotonic()
        assert other.ask("GET", f"/v1/jobs/{id}?wait=30")[2]["result"] == "rested"
        slowest = max(slowest, time.monotonic() - began)
        if number == 0:
            assert other.ask("GET", f"/v1/jobs/{id}/result")[2] == "rested"
    assert slowest < 10, "the answer came only when the wait was over"


def test_a_front_without_the_code_serves_what_workers_have_published(here: Commands) -> None:
    front = serve(here)

    assert until(lambda: front.text("GET", "/v1/call/sqrt?a=9")[2] == "3.0" or None)
    assert front.text("POST", "/v1/call/cube", {"a": 3})[2] == "27"
    status, _, problem = front.ask("POST", "/v1/call/cube", {"a": "x"})
    assert (status, problem["errors"][0]["pointer"]) == (422, "/args/a")


def test_a_job_that_was_accepted_runs_although_its_front_was_killed(here: Commands) -> None:
    front = serve(here, "app.py")
    ids = [
        front.ask("POST", "/v1/jobs", {"task": "nap", "args": {"seconds": 0.5}})[2]["id"] for _ in range(10)
    ]
    front.process.signal(signal.SIGKILL)
    front.process.ends()
    again = serve(here, "app.py")

    assert [again.ask("GET", f"/v1/jobs/{id}?wait=30")[2]["result"] for id in ids] == ["rested"] * 10


# ---- the end


def test_waiters_are_sent_elsewhere_when_their_front_is_stopped(here: Commands) -> None:
    front = serve(here, "app.py")
    with ThreadPoolExecutor(8) as clients:
        asked = [
            clients.submit(front.ask, "POST", "/v1/jobs?wait=50", {"task": "nap", "args": {"seconds": 40}})
            for _ in range(8)
        ]
        until(lambda: len(jobs(front)) == 8)
        began = time.monotonic()
        front.process.signal(signal.SIGTERM)
        answers = [each.result() for each in asked]

        assert front.process.ends() == 0
        assert time.monotonic() - began < 5
        assert {(status, headers["retry-after"]) for status, headers, _ in answers} == {(202, "0")}


@pytest.mark.timeout(180)
def test_two_thousand_event_streams_end_within_five_seconds(here: Commands) -> None:
    count = 2_000
    if not _may_open(2 * count):
        pytest.skip("too few open files are allowed here")
    front = serve(here, "app.py")
    id = front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}, "delay": 600})[2]["id"]
    ends, took = asyncio.run(_streams(front, id, count))

    assert front.process.ends() == 0
    assert sum(b"event: bye" in end for end in ends) == count
    assert took < 5, f"{took:.1f} s"


def _may_open(count: int) -> bool:
    """Whether this process, and those that it starts, may open so many files; the limit is raised as far as it goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return count <= hard


async def _streams(front: Front, id: str, count: int) -> tuple[list[bytes], float]:
    clients = await _listeners(front, id, count)
    began = time.monotonic()
    front.process.signal(signal.SIGTERM)
    ends = await asyncio.gather(*(reader.read() for reader, _ in clients))
    took = time.monotonic() - began
    for _, writer in clients:
        writer.close()
    return ends, took


async def _listeners(
    front: Front, id: str, count: int
) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """So many clients, each of which has read the first event of its stream."""
    request = (
        f"GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
    )

    async def listen() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(request)
        await reader.readuntil(b"event: job")
        return reader, writer

    clients = []
    for start in range(0, count, 100):
        clients += await asyncio.gather(*(listen() for _ in range(start, start + 100)))
    return clients


def test_a_second_signal_stops_at_once(here: Commands) -> None:
    front = serve(here, "app.py")
    with front.connect() as client:
        client.sendall(
            b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
        )
        assert b"100 Continue" in client.recv(1_000), "from now on the front waits for the body"
        front.process.signal(signal.SIGTERM)
        front.process.says("stopping", error=True)
        time.sleep(ECHO + 0.1)  # sooner it would be taken for an echo of the first
        began = time.monotonic()
        front.process.signal(signal.SIGTERM)
        front.process.ends()
        assert time.monotonic() - began < 4


# ---- the start


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_no_front_starts_where_others_can_reach_it_without_a_key(commands: Commands, host: str) -> None:
    commands.write("app.py", APP)
    run = commands.run("serve", "app.py", "--host", host, "--port", "0")

    assert run.returncode == 2
    assert "NORIA_API_KEY" in run.stderr and host in run.stderr


def test_with_a_key_it_starts_there_and_asks_for_it(commands: Commands) -> None:
    commands.write("app.py", APP)
    key = "a-key-of-sixteen-or-more"
    front = serve(commands, "app.py", "--host", "0.0.0.0", NORIA_API_KEY=key)

    assert front.ask("GET", "/v1/jobs", Host="anything.example")[0] == 401
    assert front.ask("GET", "/v1/jobs", Host="anything.example", Authorization=f"Bearer {key}")[0] == 200
    front.process.signal(signal.SIGTERM)
    assert front.process.ends() == 0
    assert key not in "".join(front.process.err) + "".join(front.process.out)


@pytest.mark.parametrize(
    ("in_store", "front_key"),
    [("none", False), ("none", True), ("one", False), ("one", True), ("revoked", False), ("expired", False)],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_s3_who_may_come_where_a_front_listens(
    commands: Commands, host: str, in_store: str, front_key: bool
) -> None:
    """An open front is for this machine alone, and only as long as there is no key at all."""
    commands.write("app.py", APP)
    made = ""
    if in_store != "none":
        assert commands.run("enqueue", "cube", "a=3", "--app", "app.py").returncode == 0  # makes the store
        words = ["--expires", "4"] if in_store == "expired" else []
        made = commands.json("keys", "create", "k", "--scope", "jobs:read", *words)[0]["key"]
    if in_store == "revoked":
        commands.run("keys", "revoke", made.split("_")[1], "--yes")
    environment = {"NORIA_API_KEY": "a-key-of-sixteen-or-more"} if front_key else {}
    asks = front_key or in_store in ("one", "expired")
    if host == "0.0.0.0" and not asks:
        run = commands.run("serve", "app.py", "--host", host, "--port", "0", **environment)
        assert (run.returncode, "NORIA_API_KEY" in run.stderr) == (2, True)
        return
    front = serve(commands, "app.py", "--host", host, **environment)
    assert front.ask("GET", "/v1/jobs")[0] == (401 if asks else 200)
    if in_store == "expired":
        until(lambda: front.ask("GET", "/v1/jobs", Authorization=f"Bearer {made}")[0] == 401)
    if made:
        status = front.ask("GET", "/v1/jobs", Authorization=f"Bearer {made}")[0]
        assert status == (200 if in_store == "one" else 401)
    if front_key:
        good = environment["NORIA_API_KEY"]
        assert front.ask("GET", "/v1/jobs", Authorization=f"Bearer {good}")[0] == 200
    assert front.ask("GET", "/livez")[0] == 200


def test_l8_a_front_starts_before_anything_else_is_there(commands: Commands) -> None:
    front = serve(commands)

    assert front.ask("GET", "/readyz")[2] == {"status": "ready"}
    assert front.ask("GET", "/v1/jobs")[2]["items"] == []
    early = front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}})
    assert (early[0], early[2]["code"]) == (404, "task_unknown")
    parked = front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}, "park": True})
    assert parked[0] == 202
    commands.write("app.py", APP)
    commands.start("worker", "app.py").says("slots:", error=True)

    assert front.ask("GET", f"/v1/jobs/{parked[2]['id']}?wait=30")[2]["result"] == 27
    assert until(lambda: front.text("POST", "/v1/call/cube", {"a": 3})[2] == "27" or None)


def test_a_short_key_and_a_taken_port_are_told_at_the_start(commands: Commands) -> None:
    commands.write("app.py", APP)
    short = commands.run("serve", "app.py", "--port", "0", NORIA_API_KEY="short")
    assert (
        short.returncode == 2 and "16" in short.stderr and "short" not in short.stderr.replace("api_key", "")
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = commands.run("serve", "app.py", "--port", str(taken.getsockname()[1]))
    assert run.returncode == 2 and "--port" in run.stderr


def test_under_a_root_path_every_link_begins_with_it(here: Commands) -> None:
    front = serve(here, "app.py", "--root-path", "/jobs-api")
    status, headers, job = front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}})

    assert status == 202
    assert headers["location"] == f"/jobs-api/v1/jobs/{job['id']}" == job["links"]["self"]
    assert front.ask("GET", "/nowhere")[2]["type"].startswith("/jobs-api/docs#")
    assert front.ask("GET", "/openapi.json")[2]["servers"] == [{"url": "/jobs-api"}]


# ---- hostile bytes


def status_of(answer: bytes) -> int:
    return int(answer.split()[1]) if answer else 0


def read_one(client: socket.socket) -> bytes:
    """One answer and what comes with it, up to the length that it tells."""
    answer = b""
    try:
        while piece := client.recv(65_536):
            answer += piece
            head, end, body = answer.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            if end and (length is None or len(body) >= int(length[1])):
                break
    except (TimeoutError, ConnectionResetError):
        pass
    return answer


@pytest.mark.parametrize(
    ("data", "statuses"),
    [
        (b"nonsense\r\n\r\n", {400}),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", {400}),
        (b"GET /livez HTTP/1.1\r\n\r\n", {200}),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", {200, 400}),
        (b"GET /livez\r\n\r\n", {400, 200}),
        (b"GET http://other/livez HTTP/1.1\r\nHost: localhost\r\n\r\n", {200, 400, 404}),
        (b"GET /%c3%28 HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
        (b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 404}),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n", {400}),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n", {400, 200}),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"0\r\n\r\nGET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", {400}),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", {400}),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"ffffffffffffffffff\r\n", {400, 415}),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n", {400, 415, 501}),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", {431}),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {431}),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 4_000, {431}),
    ],
    ids=range(18),
)  # fmt: skip
def test_bytes_that_are_no_good_request_are_refused_and_harm_nobody(
    front: Front, data: bytes, statuses: set[int]
) -> None:
    with front.connect(10) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(5)
        answer = read_one(client)
    assert status_of(answer) in statuses, answer
    if status_of(answer) >= 400:
        problem = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert b"application/problem+json" in answer
        assert CODES[problem["code"]] == (status_of(answer), problem["title"])
        assert problem["instance"].startswith("urn:uuid:") and problem["status"] == status_of(answer)
    assert answer.count(b"HTTP/1.1") <= 1, "nothing was smuggled in behind it"
    assert front.ask("GET", "/livez")[0] == 200


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """One front for all the tests that only shout at it."""
    import shutil
    import tempfile

    runtime = Path(tempfile.mkdtemp(prefix="n-", dir="/tmp"))
    there = Commands(tmp_path_factory.mktemp("front"), runtime)
    there.write("app.py", APP)
    try:
        yield serve(there, "app.py")
    finally:
        there.close()
        shutil.rmtree(runtime, ignore_errors=True)


def memory_of(front: Front) -> int:
    """Its resident bytes."""
    text = Path(f"/proc/{front.process.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def test_a_gigabyte_is_refused_before_it_is_read(front: Front) -> None:
    before = memory_of(front)
    with front.connect(20) as client:
        client.sendall(
            b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000000000\r\n\r\n"
        )
        answer = read_all(client)
    assert status_of(answer) == 413

    with front.connect(20) as client:
        client.sendall(
            b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        sent = 0
        try:
            while sent < 200_000_000:
                client.sendall(b"10000\r\n" + b"[" * 65_536 + b"\r\n")
                sent += 65_536
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 50_000_000, "it went on reading what nobody wants"
    assert memory_of(front) - before < 50_000_000
    assert front.ask("GET", "/livez")[0] == 200


SLOW = """
from noria.cli.signals import ECHO
from noria.front import limits
from noria.front.problem import CODES
limits.READ_TIME = 0.5
"""


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 408),
        (b"GET /livez HT", 408),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ", 408),
        (b"\r\n", 408),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         b"Content-Length: 10\r\n\r\n{", 408),
    ],
    ids=["nothing", "line", "header", "crlf", "body"],
)  # fmt: skip
def test_a_client_that_is_too_slow_is_sent_away(commands: Commands, data: bytes, status: int) -> None:
    commands.write("app.py", APP)
    commands.write("sitecustomize.py", SLOW)
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    with front.connect(10) as client:
        client.sendall(data)
        assert status_of(read_all(client)) == status


def test_a_client_that_drips_does_not_win_time(commands: Commands) -> None:
    commands.write("app.py", APP)
    commands.write("sitecustomize.py", SLOW)
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    began = time.monotonic()
    with front.connect(10) as client:
        dripping = threading.Thread(target=_drip, args=(client,), daemon=True)
        dripping.start()
        answer = read_all(client)
        dripping.join(5)
    assert status_of(answer) in (0, 408)
    assert time.monotonic() - began < 5


def _drip(client: socket.socket) -> None:
    try:
        client.sendall(b"GET /livez HTTP/1.1\r\n")
        for _ in range(200):
            client.sendall(b"X: a\r\n")
            time.sleep(0.05)
    except OSError:
        pass


def test_a_head_at_the_limit_passes_and_one_byte_more_does_not(front: Front) -> None:
    def status(size: int) -> int:
        start, end = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ", b"\r\n\r\n"
        return status_of(front.raw(start + b"a" * (size - len(start) - len(end)) + end))

    assert (status(limits.HEADERS), status(limits.HEADERS + 1)) == (200, 431)


def test_f3_a_client_that_closes_its_socket_frees_its_waiter_and_keeps_its_job(commands: Commands) -> None:
    commands.write("app.py", APP)
    commands.write(
        "sitecustomize.py",
        "from noria.front import FrontSettings\nFrontSettings.__init__.__kwdefaults__['waiters'] = 1\n",
    )
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    id = front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}, "delay": 600})[2]["id"]
    assert front.ask("GET", "/v1")[2]["limits"]["waiters"] == 1
    data = b'{"task": "cube", "args": {"a": 4}}'
    reads = f"GET /v1/jobs/{id}?wait=50 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    posts = (
        b"POST /v1/jobs?wait=50 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(data), data)
    )

    def full() -> bool:
        return front.ask("GET", f"/v1/jobs/{id}?wait=0.001")[0] == 429

    for request, reset in ((reads, False), (reads, True), (posts, False)):
        client = until(lambda: _waits(front, request, full), what="nobody waits")  # noqa: B023 - asked at once
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        until(lambda: not full(), what="its place was never freed")
    assert len(jobs(front)) >= 2, "the job of the client that left is there"


def _waits(front: Front, request: bytes, full: Callable[[], bool]) -> socket.socket | None:
    """A client that waits; None if somebody else had the last place when it came."""
    client = front.connect()
    client.sendall(request)
    while not full():
        if select.select([client], [], [], 0)[0]:
            client.close()
            return None
    return client


def test_f4_all_fronts_at_which_somebody_waits_for_one_job_learn_of_its_end(commands: Commands) -> None:
    """A job hints to one channel, the last that asked; the others look for themselves, long before a wait is over."""
    commands.write("app.py", APP)
    fronts = [serve(commands, "app.py") for _ in range(3)]
    id = fronts[0].ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}, "delay": 600})[2]["id"]

    with ThreadPoolExecutor(len(fronts)) as clients:
        asked = [clients.submit(front.ask, "GET", f"/v1/jobs/{id}?wait=25") for front in fronts]
        until(lambda: all(_holds(front) for front in fronts), what="not everybody waits")
        fronts[0].ask("POST", f"/v1/jobs/{id}/cancel")
        answers = [each.result(30) for each in asked]

    assert {(status, job["state"]) for status, _, job in answers} == {(200, "cancelled")}


def _holds(front: Front) -> bool:
    """Whether a client of a front is connected and has not been answered."""
    listing = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ends = [line.split()[1:4] for line in listing]
    return any(local.endswith(f":{front.port:04X}") and state == "01" for local, _, state in ends)


def test_f11_a_reader_that_stops_costs_the_front_no_memory(commands: Commands) -> None:
    commands.write("app.py", APP)
    commands.write("sitecustomize.py", "from noria.front import events\nevents.PATIENCE = 3.0\n")
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    body = {"task": "big", "args": {"size": 1}, "delay": 600, "tags": ["x" * 64] * 16}
    id = front.ask("POST", "/v1/jobs", {**body, "correlation_id": "c" * 100})[2]["id"]
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    with client:
        client.connect(("127.0.0.1", front.port))
        client.sendall(
            f"GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        client.recv(1)
        before = memory_of(front)
        for number in range(1_000):
            front.ask("PATCH", f"/v1/jobs/{id}", {"priority": number % 9})
        assert memory_of(front) - before < 20_000_000
    assert front.ask("GET", "/livez")[0] == 200


IMPATIENT = """
from noria.front import FrontSettings, events, limits, watch
events.PATIENCE, limits.UNREAD, watch.POLL = 1.0, 1.0, 0.02
FrontSettings.__init__.__kwdefaults__['streams'] = 1
"""
"""One stream, whose reader gets a second for each event; and many looks, for many events."""


def test_f11_a_reader_that_stops_is_sent_away_and_its_place_is_free_again(commands: Commands) -> None:
    commands.write("app.py", APP + "\n@app.task\nasync def keep(text: str) -> None: ...\n")
    commands.write("sitecustomize.py", IMPATIENT)
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    body = {"task": "keep", "args": {"text": "x" * 60_000}, "delay": 600}
    id = front.ask("POST", "/v1/jobs", body)[2]["id"]
    request = (
        f"GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
    )

    def sockets() -> int:
        return sum(_is_socket(path) for path in Path(f"/proc/{front.process.process.pid}/fd").iterdir())

    def is_full() -> bool:
        """Change the job, so that there is an event to read, and ask whether another stream may come."""
        front.ask("PATCH", f"/v1/jobs/{id}", {"priority": time.monotonic_ns() % 9})
        with front.connect() as other:
            other.sendall(request)
            return b" 429 " in other.recv(100)

    before = sockets()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", front.port))
        client.sendall(request)
        client.recv(1)
        assert is_full()
        memory = memory_of(front)
        until(lambda: not is_full(), seconds=90, what="its place was never freed")
        until(lambda: sockets() == before, seconds=90, what="its connection is still there, and nobody reads")
        assert memory_of(front) - memory < 20_000_000


def _is_socket(path: Path) -> bool:
    with contextlib.suppress(OSError):  # closed meanwhile
        return str(path.readlink()).startswith("socket:")
    return False


def test_f11_thousands_of_idle_streams_keep_memory_flat(commands: Commands) -> None:
    count = 2_000
    if not _may_open(2 * count):
        pytest.skip("too few open files are allowed here")
    commands.write("app.py", APP)
    commands.write("sitecustomize.py", "from noria.front import events\nevents.PING = 0.5\n")
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    id = front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}, "delay": 600})[2]["id"]

    first, settled, last = asyncio.run(_idle(front, id, count))

    assert settled - first < count * 60_000, "a stream costs more than it should"
    assert last - settled < 10_000_000, "streams that are idle cost ever more"


async def _idle(front: Front, id: str, count: int) -> tuple[int, int, int]:
    """The memory of a front before many streams, when each has been pinged, and after many more pings."""
    before = memory_of(front)
    clients = await _listeners(front, id, count)

    async def pings(number: int) -> None:
        async with asyncio.timeout(60):
            for reader, _ in clients:
                for _ in range(number):
                    await reader.readuntil(b": ping")

    await pings(2)
    settled = memory_of(front)
    await pings(10)
    last = memory_of(front)
    for _, writer in clients:
        writer.close()
    return before, settled, last


def test_f13_a_result_that_is_far_too_large_is_refused_where_it_is_made(here: Commands) -> None:
    front = serve(here, "app.py")
    front.ask("POST", "/v1/call/big", {"size": 1})
    before = memory_of(front)
    status, _, problem = front.ask("POST", "/v1/call/big", {"size": 200_000_000})

    assert (status, problem["error"]["reason"]) == (502, "result")
    assert memory_of(front) - before < 20_000_000, "it came as far as the front"
    assert front.ask("POST", "/v1/call/cube", {"a": 3})[2] == 27


def test_two_requests_at_once_are_answered_in_order(front: Front) -> None:
    with front.connect(10) as client:
        client.sendall(
            b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
            b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        answer = read_all(client)
    assert answer.index(b'"alive"') < answer.index(b'"ready"')


def test_results_of_a_megabyte_pass_and_larger_ones_fail_their_job(here: Commands) -> None:
    front = serve(here, "app.py")
    fine = front.text("POST", "/v1/call/big", {"size": 1_000_000})
    large = front.ask("POST", "/v1/call/big", {"size": 1_100_000})

    assert (fine[0], len(fine[2])) == (200, 1_000_002)
    assert (large[0], large[2]["error"]["reason"]) == (502, "result")


def test_limits_are_told(front: Front) -> None:
    told = front.ask("GET", "/v1")[2]["limits"]

    assert told["body_bytes"] == limits.BODY and told["wait_seconds"] == limits.WAIT


# ---- things run out


FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
"""
SMALL_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
"""


def test_r3_a_front_that_has_run_out_of_files_recovers(commands: Commands) -> None:
    commands.write("app.py", APP)
    commands.write("sitecustomize.py", FEW_FILES)
    front = serve(commands, "app.py", PYTHONPATH=str(commands.folder))
    held = [front.connect() for _ in range(200)]
    for client in held:
        client.close()

    # While no file is free libuv takes connections only to close them.
    asked = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    until(lambda: front.raw(asked), what="it does not serve again")
    assert front.ask("GET", "/livez")[0] == 200
    assert front.ask("POST", "/v1/jobs", {"task": "cube", "args": {"a": 3}})[0] == 202


def test_r1_a_disk_that_is_full_refuses_jobs_and_loses_none(commands: Commands) -> None:
    commands.write("app.py", APP)
    small = commands.folder / "small"
    small.mkdir()
    (small / "sitecustomize.py").write_text(SMALL_FILES)
    front = serve(commands, "app.py", PYTHONPATH=str(small))
    body = {"task": "cube", "args": {"a": 3}, "tags": ["x" * 64] * 16}
    accepted = 0
    while accepted < 5_000:
        answer = front.ask("POST", "/v1/jobs/batch", [body] * 500)[2]
        statuses = {item["status"] for item in answer["items"]}
        assert statuses <= {202, 503}, statuses
        if statuses != {202}:
            break
        accepted += 500
    assert statuses == {503}, "the disk was never full"
    assert answer["items"][0]["error"]["code"] == "backend_down"
    assert front.ask("GET", "/livez")[0] == 200
    assert front.ask("GET", "/v1/jobs?count=capped&fields=id&limit=1")[2]["count"] == accepted
    front.process.signal(signal.SIGTERM)
    front.process.ends()

    again = serve(commands, "app.py")
    assert again.ask("POST", "/v1/jobs", body)[0] == 202
    assert again.ask("GET", "/v1/jobs?count=capped&fields=id&limit=1")[2]["count"] == accepted + 1


def test_r1_a_running_front_whose_disk_fills_up_goes_on_when_there_is_room(commands: Commands) -> None:
    commands.write("app.py", APP)
    front = serve(commands, "app.py")
    pid = front.process.process.pid
    body = {"task": "cube", "args": {"a": 3}, "tags": ["x" * 64] * 16}

    def batch() -> int:
        items = front.ask("POST", "/v1/jobs/batch", [body] * 200)[2]["items"]
        return sum(item["status"] == 202 for item in items)

    accepted = batch()
    files = [path for path in commands.folder.glob("test.db*") if path.is_file()]
    room = max(path.stat().st_size for path in files) + 300_000
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    for _ in range(100):
        came = batch()
        accepted += came
        if not came:
            break
    assert came == 0, "the disk was never full"
    while (full := front.ask("POST", "/v1/jobs", body))[0] == 202:
        accepted += 1  # what is left has room for a few small ones
    assert (full[0], full[2]["code"]) == (503, "backend_down")
    assert front.ask("GET", "/v1/jobs?count=capped&fields=id&limit=1")[2]["count"] == accepted, "reads go on"

    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    until(lambda: front.ask("POST", "/v1/jobs", body)[0] == 202, what="it does not go on")
    assert front.ask("GET", "/v1/jobs?count=capped&fields=id&limit=1")[2]["count"] == accepted + 1
    front.process.signal(signal.SIGTERM)
    assert front.process.ends() == 0
    with contextlib.closing(sqlite3.connect(commands.folder / "test.db")) as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# ---- operations


@pytest.mark.timeout(120)
def test_an_operation_survives_a_front_that_is_killed_and_counts_each_job_once(commands: Commands) -> None:
    commands.write("app.py", APP)
    fronts = [serve(commands, "app.py")]
    count = 600
    body = {"task": "cube", "args": {"a": 3}, "delay": 600}
    fronts[0].ask("POST", "/v1/jobs/batch", [body] * count)
    wanted = {"action": "cancel", "filter": {"task": "cube"}, "rate": 60, "note": "wrong prices"}
    id = fronts[0].ask("POST", "/v1/operations", wanted)[2]["id"]

    def look() -> dict[str, Any]:
        found: dict[str, Any] = fronts[-1].ask("GET", f"/v1/operations/{id}")[2]
        return found

    for part in (60, 240):
        until(lambda: look()["done"] >= part, what="it stands still")  # noqa: B023 - asked before the next
        fronts[-1].process.signal(signal.SIGKILL)
        fronts[-1].process.ends()
        fronts.append(serve(commands, "app.py"))
    done = until(lambda: (found := look())["state"] == "done" and found, seconds=90)

    assert (done["matched"], done["done"], done["skipped"], done["failed"]) == (count, count, 0, 0)
    assert fronts[-1].ask("GET", "/v1/jobs?state=cancelled&count=capped&limit=1")[2]["count"] == count
