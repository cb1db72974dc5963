"""Where a front listens: who can reach it there, its socket, and its URL."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from typing import Final

from noria.errors import ConfigError

HOST: Final = "127.0.0.1"
PORT: Final = 8080
BACKLOG: Final = 2_048
_LAST: Final = 65_535


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def listen(host: str, port: int, *, spares: int = 0) -> socket.socket:
    """A socket that listens.

    Args:
        port: 0 is any that is free.
        spares: so many of the next ports are tried, if others have those before.

    Raises:
        ConfigError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + spares, _LAST)
    for each in range(port, last + 1):
        try:
            return socket.create_server((host.strip("[]"), each), family=family, backlog=BACKLOG)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and each < last:
                continue
            raise ConfigError(
                f"cannot listen on {host}, port {each}: {error.strerror or error}; choose another --port"
            ) from error
    raise ConfigError(f"there is no port {port}; choose one up to {_LAST}")


def url_of(host: str, listener: socket.socket) -> str:
    """The URL under which a front on this socket is found."""
    port = listener.getsockname()[1]
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"
