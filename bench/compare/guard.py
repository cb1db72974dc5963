"""Runs a command and ends it when whoever asked for it lets go, even by dying: `guard.py OPTIONS COMMAND...`.

The asker holds the other end of standard input; its end of file is the word to stop. So no server and no worker
outlives a benchmark that was killed. Only the standard library, and nothing of `bench`: it must start fast.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any


def main(options: dict[str, Any], command: list[str]) -> int:
    """Run it to its end.

    Args:
        options: `log`: file for its output; `user`, `group`: ids to run it as, or null; `stop`: number of the
            signal that asks it to end; `patience`: seconds until it and its children are killed after that.

    Returns:
        its exit code, or 128 and the number of the signal that killed it.
    """
    with open(options["log"], "wb") as log:
        started = time.time_ns()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            user=options["user"],
            group=options["group"],
            extra_groups=None if options["user"] is None else [],
        )
    print(json.dumps({"pid": process.pid, "started": started}), flush=True)
    threading.Thread(target=_stop, args=(process, options["stop"], options["patience"]), daemon=True).start()
    code: int = process.wait()
    _kill_group(process.pid)
    return code if code >= 0 else 128 - code


def _stop(process: subprocess.Popen[bytes], number: int, patience: float) -> None:
    while os.read(0, 1):
        pass
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)
    time.sleep(patience)
    _kill_group(process.pid)


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


if __name__ == "__main__":
    # Ctrl-C is for the asker, which then lets go.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
