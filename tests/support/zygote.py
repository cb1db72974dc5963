"""A process that has imported everything and forks on request, so that a fresh process costs milliseconds.

It serves one test session over a socket: each request carries a socket and a line that says what to serve on it;
the answer is the id of the new process. Children are ended by whoever asked for them.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """The asking side."""

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.support.zygote", module, str(theirs.fileno())]
        paths = [str(ROOT), *filter(None, sys.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[theirs.fileno()])
        theirs.close()
        self._socket = ours

    def fork(self, what: str) -> tuple[int, socket.socket]:
        """A fresh process that serves `what` at the other end of the socket."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self._socket, [what.encode()], [theirs.fileno()])
        theirs.close()
        return int(self._socket.recv(64)), ours

    def close(self) -> None:
        """End it; its children have been ended by those who asked for them."""
        self._socket.close()
        self._process.wait(10)


def kill(pid: int) -> None:
    """SIGKILL a process that is not our child, and return once nothing of it is left."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        _wait(handle)
    finally:
        os.close(handle)


def _wait(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    assert poll.poll(10_000), "a killed process has not gone within ten seconds"


def _main(module: str, descriptor: int) -> None:
    serve = importlib.import_module(module).serve
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=descriptor)
    while True:
        what, sockets, _, _ = socket.recv_fds(requests, 65_536, 1)
        if not what:
            return
        pid = os.fork()
        if pid == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(socket.socket(fileno=sockets[0]), what.decode())
            os._exit(0)
        os.close(sockets[0])
        requests.send(str(pid).encode())


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
