"""The client of a front: what is repeated, what is not, and what is no answer of a front at all."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from noria.cli.distant import DistantPeer, read_front_url
from noria.cli.exits import ExitCode, NoAnswer, NotAuthorised, NothingThere, code_of
from noria.cli.peer import Refused
from noria.errors import ConfigError, InvalidInput, JobNotFound, NoriaError, QueueFull, Unavailable, Unknown

OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}'
HANG_UP = b""
CUT = b'{"a": '


class Server:
    """Answers each request with the next of some texts, and hangs up after one that ends early or is empty.

    Attributes:
        asked: the requests that came, as text.
        connections: how many were made.
    """

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.asked: list[str] = []
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with client:
                while self._one(client):
                    pass

    def _one(self, client: socket.socket) -> bool:
        try:
            request = client.recv(65_536).decode()
        except OSError:
            return False
        if not request:
            return False
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else HANG_UP
        client.sendall(answer)
        return answer != HANG_UP and not answer.endswith(CUT)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def peer(self, key: str | None = None, seconds: float = 10.0) -> DistantPeer:
        return DistantPeer(read_front_url(self.url + "/under/"), key, seconds)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def problem(status: int, code: str, **members: object) -> bytes:
    """A failure as fronts tell it."""
    body = json.dumps({"status": status, "code": code, "detail": f"it is {code}", **members}).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def ask(peer: DistantPeer, method: str = "GET", **more: object) -> object:
    try:
        return asyncio.run(peer.ask(method, "/v1/jobs", **more)).read(dict)  # type: ignore[arg-type]  # as the test says
    finally:
        peer.close()


def test_a_request_has_the_key_the_root_path_and_its_query(server: Server) -> None:
    server.answers = [OK]
    assert ask(server.peer("secret"), query={"q": "error:a b"}) == {"a": 1}
    assert server.asked[0].startswith("GET /under/v1/jobs?q=error%3Aa+b HTTP/1.1\r\n")
    assert "Authorization: Bearer secret\r\n" in server.asked[0]


def test_a_connection_is_kept_and_replaced_when_it_was_closed_meanwhile(server: Server) -> None:
    server.answers = [OK, OK, HANG_UP, OK]
    peer = server.peer()

    async def three() -> None:
        for _ in range(3):
            await peer.ask("GET", "/v1/jobs")

    asyncio.run(three())
    peer.close()
    assert (server.connections, len(server.asked)) == (2, 4)


@pytest.mark.parametrize(
    ("method", "key", "error"),
    [("POST", None, Unknown), ("POST", "k", Unavailable), ("GET", None, Unavailable)],
)
def test_what_was_sent_and_not_answered_is_unknown_unless_it_can_be_repeated(
    server: Server, method: str, key: str | None, error: type[NoriaError]
) -> None:
    with pytest.raises(error):
        ask(server.peer(), method, body={}, key=key)
    assert len(server.asked) == 1


def test_a_post_without_a_key_is_never_sent_twice(server: Server) -> None:
    server.answers = [OK, HANG_UP, OK]
    peer = server.peer()

    async def twice() -> None:
        await peer.ask("POST", "/v1/jobs", body={})
        await peer.ask("POST", "/v1/jobs", body={})

    with pytest.raises(Unknown):
        asyncio.run(twice())
    assert len(server.asked) == 2


def test_a_redirection_is_not_followed(server: Server) -> None:
    other = Server()
    server.answers = [
        f"HTTP/1.1 307 X\r\nLocation: {other.url}/v1/jobs\r\nContent-Length: 0\r\n\r\n".encode()
    ]
    with pytest.raises(Unavailable, match="not from a front"):
        ask(server.peer("secret"))
    other.close()
    assert other.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 502 X\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + CUT,
        b"SSH-2.0-OpenSSH\r\n\r\n",
    ],
)
def test_what_is_no_front_is_unavailable(server: Server, answer: bytes) -> None:
    server.answers = [answer, HANG_UP]
    with pytest.raises(Unavailable):
        ask(server.peer(seconds=2.0))


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (problem(401, "no_key"), NotAuthorised, ExitCode.NOT_AUTHORISED),
        (problem(403, "scope_missing"), NotAuthorised, ExitCode.NOT_AUTHORISED),
        (problem(404, "job_not_found"), JobNotFound, ExitCode.NOT_FOUND),
        (problem(404, "worker_unknown"), NothingThere, ExitCode.NOT_FOUND),
        (problem(409, "wrong_state", state="queued"), Refused, ExitCode.REFUSED),
        (problem(422, "invalid_args", errors=[{"pointer": "/args/a", "message": "m"}]), InvalidInput, ExitCode.USAGE),
        (problem(400, "bad_filter"), InvalidInput, ExitCode.USAGE),
        (problem(429, "rate_limited", retry_after=1), Unavailable, ExitCode.UNREACHABLE),
        (problem(429, "queue_full", retry_after=1), QueueFull, ExitCode.REFUSED),
        (problem(503, "backend_down"), Unavailable, ExitCode.UNREACHABLE),
        (problem(503, "backend_down", retry_safe=False), Unknown, ExitCode.UNREACHABLE),
    ],
)  # fmt: skip
def test_a_problem_is_the_error_of_a_store(
    server: Server, answer: bytes, kind: type[NoriaError], code: ExitCode
) -> None:
    server.answers = [answer]
    with pytest.raises(kind, match="it is") as found:
        ask(server.peer())
    assert code_of(found.value) == code


def test_a_front_that_is_silent_is_left_after_its_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        peer = DistantPeer(read_front_url(f"http://127.0.0.1:{silent.getsockname()[1]}"), None, 0.2)
        with pytest.raises(NoAnswer, match=r"within 0\.2 s"):
            ask(peer)


@pytest.mark.parametrize(
    "url", ["http://", "http://u:p@h", "http://h:0", "http://h/?a=b", "http://h#x", "http://[h"]
)
def test_a_url_that_names_no_front_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        read_front_url(url)
