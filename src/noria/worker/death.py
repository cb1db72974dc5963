"""How a child process died, as its parent sees it, and what it has left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from noria.backends.contract import Evidence
from noria.worker import memory


def await_death(child: int) -> int:
    """Wait until a child has died, and kill what is left of the process group that it led; in a thread.

    The body stays where it is until `seen` reaps it, so that its number is nobody else's before.

    Returns:
        how many processes were left, where /proc tells.
    """
    try:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return 0  # somebody else has reaped it, and its number may be anybody's
    left = [pid for pid in _members(child) if pid != child]
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return len(left)


def _members(group: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                yield int(path.parent.name)


def seen(popen: subprocess.Popen[bytes]) -> Evidence:
    """Reap a child that has died, and tell what is known; its `returncode` is set."""
    try:
        _, status, use = os.wait4(popen.pid, 0)
    except ChildProcessError:  # somebody else in this process waits for all children
        popen.returncode = popen.returncode or 0
        return Evidence(cause=f"process {popen.pid} is gone", pid=popen.pid)
    code = popen.returncode = os.waitstatus_to_exitcode(status)
    evidence = Evidence(
        cause="",
        pid=popen.pid,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        memory=memory.peak(use),
    )
    return replace(evidence, cause=f"process {popen.pid} {how(evidence)}")


def how(evidence: Evidence) -> str:
    """The end of a process in a few words."""
    if evidence.signal is None:
        return f"ended with exit code {evidence.exit_code}"
    hint = " (perhaps for its memory)" if evidence.signal == signal.SIGKILL else ""
    return f"was ended by {_name(evidence.signal)}{hint}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
