"""What a supervisor decides when processes die, and that it shares nothing with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noria.clock import SystemClock
from noria.worker.fleet import Place, Program
from noria.worker.supervisor import FIRST_PAUSE, LONGEST_PAUSE, STABLE, Codes, Supervisor

CODES = Codes(hopeless=2, again=75, cut=1)
ONCE = Codes(hopeless=2, again=75, cut=1, once=True)
TETHERED = """
import os, signal, sys, time
from noria.worker.tether import Leaving, Tether, Working
file, life = map(int, os.environ["TETHER"].split(":"))
tether = Tether.at(file)
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
tether.say(Working())
open(f"{sys.argv[1]}/{life}", "w").write(str(os.getpid()))
"""
"""How a process begins that works; it writes its number into a file named for its life."""


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


def program(text: str, *words: str) -> Program:
    return Program(name="worker 1", command=(sys.executable, "-c", text, *words), environment={})


def supervisor(*programs: Program, codes: Codes = CODES, clock: Any = None, **more: Any) -> Supervisor:
    return Supervisor(
        programs,
        grace=5.0,
        codes=codes,
        variable="TETHER",
        clock=clock or SystemClock(),
        chance=lambda: 1.0,
        **more,
    )


@pytest.fixture
def running() -> Iterator[Callable[[Supervisor], list[int]]]:
    """Runs supervisors in threads of their own; their codes come in the end."""
    begun: list[tuple[Supervisor, threading.Thread]] = []

    def run(made: Supervisor) -> list[int]:
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(made.run()), daemon=True)
        begun.append((made, thread))
        thread.start()
        return codes

    yield run
    for made, thread in begun:
        for _ in range(3):
            made.stop()
        thread.join(10)
        assert not thread.is_alive()


def until(seen: Callable[[], Any], what: str = "it did not happen") -> Any:
    deadline = time.monotonic() + 20
    while not (found := seen()):
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
    return found


def pid(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0


def test_it_imports_neither_uvloop_nor_a_backend() -> None:
    text = (
        "import noria.cli.supervise, sys; "
        "bad = [m for m in sys.modules if m.split('.')[0] in ('uvloop', 'apsw', 'sqlite3') "
        "or m.startswith('noria.backends.') and m.split('.')[2] in ("
        "'sql', 'sqlite', 'postgres', 'redis', 'rabbitmq')]; "
        "sys.exit(repr(bad) if bad else 0)"
    )
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0


def test_l10_pauses_grow_while_processes_die_at_once_and_start_anew_after_a_stable_one() -> None:
    clock = Hand()
    made, place = supervisor(clock=clock), Place(program(""))
    waits = []
    for lived in [0.1] * 9 + [STABLE, 0.1, 0.1]:
        made._wait_before_next(place, lived, "died")
        waits.append(place.due - clock.now)
    assert waits[:3] == [0.0, FIRST_PAUSE, 2 * FIRST_PAUSE], "at once the first time"
    assert waits[8] == LONGEST_PAUSE
    assert waits[9:] == [0.0, 0.0, FIRST_PAUSE]


def test_l10_a_program_that_can_never_start_ends_it_with_its_code(tmp_path: Path) -> None:
    text = "import sys; open(sys.argv[1], 'a').write('x'); sys.exit(2)"
    assert supervisor(program(text, str(tmp_path / "starts"))).run() == 2
    assert (tmp_path / "starts").read_text() == "x", "once, not for ever"


def test_l10_a_program_that_breaks_later_does_not_end_its_neighbours(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    good = program(TETHERED + "while not asked: time.sleep(0.01)", str(tmp_path))
    broken = program(
        f"import os, sys, time\nwhile not os.path.exists({str(tmp_path / '1')!r}): time.sleep(0.01)\n"
        f"time.sleep(0.2); open({str(tmp_path / 'starts')!r}, 'a').write('x'); sys.exit(2)"
    )
    codes = running(made := supervisor(good, broken))
    until(lambda: (tmp_path / "starts").exists() and len((tmp_path / "starts").read_text()) >= 2)
    assert not codes, "it goes on"
    made.stop()
    assert until(lambda: codes) == [0]


def test_a_front_that_cannot_start_ends_all_although_workers_work(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    good = program(TETHERED + "while not asked: time.sleep(0.01)", str(tmp_path))
    refused = replace(
        program(
            f"import os, sys, time\nwhile not os.path.exists({str(tmp_path / '1')!r}): time.sleep(0.01)\n"
            "time.sleep(0.2); sys.exit(2)"
        ),
        kind="front",
    )
    codes = running(supervisor(good, refused))
    assert until(lambda: codes) == [2]


def test_l8_a_program_whose_backend_is_not_there_yet_is_started_until_it_is(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    text = (
        f"import os, sys\nopen({str(tmp_path / 'starts')!r}, 'a').write('x')\n"
        f"if not os.path.exists({str(tmp_path / 'backend')!r}): sys.exit(3)\n"
        + TETHERED
        + "while not asked: time.sleep(0.01)"
    )
    codes = running(made := supervisor(program(text, str(tmp_path))))
    until(lambda: (tmp_path / "starts").exists() and len((tmp_path / "starts").read_text()) == 2)
    (tmp_path / "backend").touch()
    until(lambda: pid(tmp_path / "3"))
    made.stop()
    assert until(lambda: codes) == [0]


def test_programs_that_have_done_their_work_are_not_started_again(tmp_path: Path) -> None:
    text = "import sys; open(sys.argv[1], 'a').write('x')"
    path = tmp_path / "starts"
    assert supervisor(program(text, str(path)), program(text, str(path)), codes=ONCE).run() == 0
    assert path.read_text() == "xx"


@pytest.mark.kill
def test_a_process_that_was_killed_is_started_again(
    tmp_path: Path, running: Callable[[Supervisor], list[int]], caplog: pytest.LogCaptureFixture
) -> None:
    codes = running(
        made := supervisor(program(TETHERED + "while not asked: time.sleep(0.01)", str(tmp_path)))
    )
    os.kill(until(lambda: pid(tmp_path / "1")), signal.SIGKILL)
    until(lambda: pid(tmp_path / "2"))
    assert "worker 1 was ended by SIGKILL" in caplog.text
    made.stop()
    assert until(lambda: codes) == [0]


@pytest.mark.kill
def test_a_process_that_asks_for_it_is_replaced_before_it_has_ended(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    text = TETHERED + (
        "if life == 1:\n"
        "    tether.say(Leaving('too much memory'))\n"
        f"    while not os.path.exists({str(tmp_path / '2')!r}): time.sleep(0.01)\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as workers do when all is done\n"
        "    sys.exit(75)\n"
        "while not asked: time.sleep(0.01)"
    )
    codes = running(made := supervisor(program(text, str(tmp_path))))
    until(lambda: pid(tmp_path / "2"), "the first waits for the second, which never comes")
    made.stop()
    assert until(lambda: codes) == [0]


@pytest.mark.kill
def test_a_reload_replaces_what_runs_and_waits_for_a_better_file_when_nothing_can(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    text = (
        f"import os, sys\nif os.path.exists({str(tmp_path / 'broken')!r}): sys.exit(2)\n"
        + TETHERED
        + "while not asked: time.sleep(0.01)"
    )
    codes = running(made := supervisor(program(text, str(tmp_path)), reloads=True))
    until(lambda: pid(tmp_path / "1"))
    (tmp_path / "broken").touch()
    made.reload()
    until(lambda: not made._children, "the old one drains, and the new one cannot start")
    (tmp_path / "broken").unlink()
    made.reload()
    until(lambda: pid(tmp_path / "3"))
    made.stop()
    assert until(lambda: codes) == [0]


@pytest.mark.kill
def test_a_process_that_ignores_its_end_is_killed(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    codes = running(made := supervisor(program(TETHERED + "time.sleep(600)\n" * 9, str(tmp_path))))
    until(lambda: pid(tmp_path / "1"))
    for _ in range(3):
        made.stop()
    assert until(lambda: codes) == [1]


@pytest.mark.kill
def test_a_program_that_must_be_alone_has_no_successor_before_it_has_ended(
    tmp_path: Path, running: Callable[[Supervisor], list[int]]
) -> None:
    text = TETHERED + (
        "while not asked: time.sleep(0.01)\n"
        "alone = not os.path.exists(f'{sys.argv[1]}/{life + 1}')\n"
        "time.sleep(0.3)\n"
        "alone = alone and not os.path.exists(f'{sys.argv[1]}/{life + 1}')\n"
        "open(f'{sys.argv[1]}/alone{life}', 'w').write(str(alone))"
    )
    only = Program(
        name="front", command=(sys.executable, "-c", text, str(tmp_path)), environment={}, alone=True
    )
    codes = running(made := supervisor(only))
    until(lambda: pid(tmp_path / "1"))
    made.reload()
    until(lambda: pid(tmp_path / "2"))
    assert (tmp_path / "alone1").read_text() == "True"
    made.stop()
    assert until(lambda: codes) == [0]
