"""A worker process hears every signal and ends in bounded time, with the code that was decided first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from noria.cli.departure import Departure
from noria.cli.signals import Ears, Presses

WAIT = 10.0


class Heard:
    """What was heard, and a way to wait for it; its clock moves a second at each look."""

    def __init__(self) -> None:
        self.now = 0.0
        self.signals: list[tuple[int, int]] = []
        self._more = threading.Semaphore(0)

    def __call__(self, number: int, count: int) -> None:
        self.signals.append((number, count))
        self._more.release()

    def clock(self) -> float:
        self.now += 1.0
        return self.now

    def wait(self) -> None:
        assert self._more.acquire(timeout=WAIT)


@pytest.fixture
def heard() -> Iterator[Heard]:
    found = Heard()
    ears = Ears(found, found.clock)
    ears.open()
    yield found
    ears.close()


def test_signals_are_counted_in_order(heard: Heard) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
        heard.wait()
    assert heard.signals == [(signal.SIGTERM, 1), (signal.SIGINT, 2), (signal.SIGTERM, 3)]


def test_a_signal_is_heard_once_although_the_pipe_was_taken(heard: Heard) -> None:
    signal.set_wakeup_fd(-1)
    os.kill(os.getpid(), signal.SIGTERM)
    heard.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    heard.wait()
    assert [count for _, count in heard.signals] == [1, 2]


def test_an_echo_of_a_signal_is_not_a_second_one() -> None:
    presses = Presses()
    moments = [5.0, 5.01, 5.2, 6.0, 6.1, 60.0]
    assert [presses.press(now) for now in moments] == [1, 0, 0, 2, 0, 3]


def test_everything_is_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    ears = Ears(lambda number, count: None, lambda: 0.0)
    ears.open()
    ears.close()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_limit_ends_the_process_with_its_code() -> None:
    left = threading.Semaphore(0)
    told: list[object] = []

    def leave(code: int) -> None:
        told.append(code)
        left.release()

    departure = Departure(lambda: told.append("flushed"), leave)
    departure.limit(1, 0.01)
    assert left.acquire(timeout=WAIT)
    assert told == ["flushed", 1]


PROGRAM = """
import atexit, sys, threading, time
from noria.cli.departure import Departure
departure = Departure(lambda: print("flushed", flush=True))
departure.prepare()
atexit.register(lambda: print("users", flush=True))
{}
"""


def run(code: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(code)], capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, done.stdout.split()


def test_exit_handlers_run_before_the_end() -> None:
    assert run("departure.decide(3)") == (3, ["users", "flushed"])


def test_threads_that_never_end_do_not_keep_the_process() -> None:
    assert run("threading.Thread(target=time.sleep, args=(600,)).start(); departure.decide(3)") == (
        3,
        ["flushed"],
    )


def test_without_a_decision_it_ends_as_every_program() -> None:
    assert run("sys.exit(5)") == (5, ["users", "flushed"])
