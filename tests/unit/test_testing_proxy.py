"""`noria.testing.proxy`: what each of its faults is to the two ends of a connection."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator

import pytest

from noria.testing.proxy import Proxy

SOON = 0.2
"""Seconds after which what has not come is taken for held."""
LATE = 10.0


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says back whatever it is told."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(client: socket.socket) -> None:
        with client:
            try:
                while data := client.recv(65_536):
                    client.sendall(data)
            except OSError:
                pass

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(client,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in (accepting, *threads):
        thread.join(LATE)


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    with Proxy("127.0.0.1", echo) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with connected(proxy) as client:
        yield client


def connected(proxy: Proxy) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", proxy.port), timeout=LATE)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def said(client: socket.socket, count: int) -> bytes:
    """What comes, up to so many bytes, or to the end of the connection."""
    data = b""
    while len(data) < count and (more := client.recv(count - len(data))):
        data += more
    return data


def is_held(client: socket.socket) -> bool:
    client.settimeout(SOON)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(LATE)
    return False


def test_at_first_everything_passes(client: socket.socket, proxy: Proxy) -> None:
    client.sendall(b"hello")

    assert said(client, 5) == b"hello"
    assert (proxy.accepted, proxy.passed) == (1, {"requests": 5, "answers": 5})


def test_the_end_of_a_client_reaches_the_server_and_the_end_of_a_server_the_client(
    client: socket.socket,
) -> None:
    client.sendall(b"hello")
    assert said(client, 5) == b"hello"

    client.shutdown(socket.SHUT_WR)

    assert client.recv(1) == b""


def test_pieces_of_any_size_are_the_same_bytes(client: socket.socket, proxy: Proxy) -> None:
    proxy.chop(random.Random(1))
    data = random.Random(2).randbytes(100_000)

    threading.Thread(target=client.sendall, args=(data,)).start()

    assert said(client, len(data)) == data


def test_what_drips_comes_byte_by_byte_until_it_is_healed(client: socket.socket, proxy: Proxy) -> None:
    proxy.drip(3_600.0, "answers")
    client.sendall(b"hello")
    assert is_held(client)

    proxy.heal()

    assert said(client, 5) == b"hello"


def test_a_silent_server_accepts_says_nothing_and_has_forgotten_nothing(
    client: socket.socket, proxy: Proxy
) -> None:
    proxy.silence()
    client.sendall(b"hello")
    with connected(proxy) as later:
        later.sendall(b"later")
        assert is_held(client)
        assert is_held(later)

        proxy.heal()

        assert said(client, 5) == b"hello"
        assert said(later, 5) == b"later"


def test_a_forgotten_connection_stays_dead_and_new_ones_live(client: socket.socket, proxy: Proxy) -> None:
    client.sendall(b"hello")
    assert said(client, 5) == b"hello"
    proxy.forget()
    client.sendall(b"hello")

    assert is_held(client)
    proxy.heal()
    assert is_held(client)
    with connected(proxy) as later:
        later.sendall(b"later")
        assert said(later, 5) == b"later"


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_answers_are_cut_after_so_many_bytes_and_once(
    client: socket.socket, proxy: Proxy, count: int
) -> None:
    proxy.cut_after("answers", count)
    client.sendall(b"hello")

    assert said(client, 6) == b"hello"[:count]
    assert proxy.cuts == 1
    with connected(proxy) as later:
        later.sendall(b"later")
        assert said(later, 5) == b"later"


def test_requests_are_cut_after_so_many_bytes(client: socket.socket, proxy: Proxy) -> None:
    proxy.cut_after("requests", 3)
    client.sendall(b"hello")

    assert b"hel".startswith(said(client, 6))
    assert proxy.passed["requests"] == 3


def test_a_cut_resets_what_stands(client: socket.socket, proxy: Proxy) -> None:
    client.sendall(b"hello")
    assert said(client, 5) == b"hello"

    proxy.cut()

    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_nobody_is_let_in_while_it_refuses(client: socket.socket, proxy: Proxy) -> None:
    proxy.refuse()
    # The reset may come while connect still runs, or after it.
    with pytest.raises(ConnectionResetError), connected(proxy) as refused:
        refused.recv(1)

    proxy.heal()

    with connected(proxy) as later:
        later.sendall(b"later")
        assert said(later, 5) == b"later"


def test_it_listens_no_more_once_it_is_closed(client: socket.socket, proxy: Proxy) -> None:
    client.sendall(b"hello")
    assert said(client, 5) == b"hello"
    proxy.close()
    proxy.close()

    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)


def test_a_url_leads_through_it() -> None:
    with Proxy.before("redis://user:pa%40ss@127.0.0.1:6379/0?namespace=shop") as proxy:
        through = proxy.through("redis://user:pa%40ss@127.0.0.1:6379/0?namespace=shop")

        assert through == f"redis://user:pa%40ss@127.0.0.1:{proxy.port}/0?namespace=shop"
    with pytest.raises(ValueError, match="the host and the port"):
        Proxy.before("redis://127.0.0.1")
