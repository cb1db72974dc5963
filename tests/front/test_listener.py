"""Where a front listens when others were there before."""

from __future__ import annotations

import socket

import pytest

from noria.errors import ConfigError
from noria.front.listener import listen, url_of


def test_the_next_port_that_is_free_is_taken() -> None:
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", port(first), spares=50) as second:
        assert port(second) > port(first)
        assert url_of("127.0.0.1", second) == f"http://127.0.0.1:{port(second)}"


def test_without_spares_a_port_that_is_taken_is_an_error() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(ConfigError, match=r"in use.*another --port"):
        listen("127.0.0.1", port(first))


def test_an_address_that_is_not_of_this_machine_is_not_tried_again() -> None:
    with pytest.raises(ConfigError, match="port 8080: "):
        listen("192.0.2.1", 8080, spares=50)  # RFC 5737: an address of documentation


def port(listener: socket.socket) -> int:
    number: int = listener.getsockname()[1]
    return number
