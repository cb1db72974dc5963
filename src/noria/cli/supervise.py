"""Runs a command several times over, as processes that are kept running: what `--processes` and `--reload` mean."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from noria import ids
from noria.cli.changes import Changes
from noria.cli.environment import CHILD, FRONT, TETHER, passed
from noria.cli.exits import ExitCode
from noria.cli.quantities import duration
from noria.cli.signals import Ears
from noria.clock import SystemClock
from noria.worker.fleet import Program
from noria.worker.supervisor import Codes, Supervisor

log = logging.getLogger("noria.supervisor")

PYTHON: Final = (sys.executable, "-P", "-m", "noria")


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """A front that runs as a process of its own.

    Attributes:
        program: `noria serve`.
        url: where it answers.
        asks: it has a key besides those in the store.
    """

    program: Program
    url: str
    asks: bool


def supervise(
    count: int,
    *,
    grace: float,
    burst: bool = False,
    watched: Path | None = None,
    front: Front | None = None,
) -> ExitCode:
    """Run the command line of this process in `count` processes, until a signal.

    Args:
        grace: seconds that they take to drain.
        burst: they end when there is nothing to do, and are not started again then.
        watched: a folder of Python files; when one changes, all processes are replaced.
        front: is kept running beside the workers.

    Returns:
        OK, FAILED if something was cut short, or what a process ended with that can never start.
    """
    supervisor = Supervisor(
        [
            *workers(count, {} if front is None else {FRONT: f"{front.url} {'key' if front.asks else ''}"}),
            *([] if front is None else [front.program]),
        ],
        grace=grace,
        codes=Codes(hopeless=ExitCode.USAGE, again=ExitCode.RESTART, cut=ExitCode.FAILED, once=burst),
        variable=TETHER,
        clock=SystemClock(),
        chance=ids.jitter_source(ids.system_entropy).random,
        reloads=watched is not None,
    )
    _obey_signals(supervisor, grace)
    if watched is not None:
        Changes(watched, supervisor.reload).start()
    return ExitCode(supervisor.run())


def workers(count: int, more: Mapping[str, str]) -> list[Program]:
    """The processes that work: this command line again, each with a number of its own, and more environment.

    They do not get the key of the front: what runs in them has no need of it.
    """
    given = {**passed(), **more}
    return [
        Program(
            name=f"worker {number}",
            command=(*PYTHON, *sys.argv[1:]),
            environment={**given, CHILD: str(number)},
        )
        for number in range(1, count + 1)
    ]


def _obey_signals(supervisor: Supervisor, grace: float) -> None:
    def heard(number: int, count: int) -> None:
        name = signal.Signals(number).name
        if count == 1:
            log.warning("%s: all processes drain for up to %s; again stops now", name, duration(grace))
        supervisor.stop()

    Ears(heard, SystemClock().monotonic, {signal.SIGUSR1: supervisor.dump}).open()
