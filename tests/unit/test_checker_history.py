"""Histories are written before anything goes on, survive a SIGKILL, and are read back in one order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from noria.errors import InvalidInput
from noria.testing.events import Effect, Event, Fact, Fault, Left, PushInvoke, Sheet
from noria.testing.history import Recorder, digest, in_order, read_history
from tests.support.manual import ManualClock
from tests.support.source import ROOT


def test_an_event_is_one_line_that_says_who_when_and_what(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "worker", clock=ManualClock(5.0, 7.0))
    recorder.note(PushInvoke(id="a", task="t"))
    recorder.close()

    (path,) = tmp_path.iterdir()
    (line,) = path.read_text().splitlines()

    assert msgspec.json.decode(line) == {
        "mono": 7.0,
        "wall": 5.0,
        "proc": f"worker-{os.getpid()}",
        "seq": 1,
        "fact": {"kind": "push.invoke", "id": "a", "task": "t"},
    }


def _sample(type: Any) -> Any:
    plain: dict[Any, Any] = {
        str: "x",
        int: 3,
        float: 1.5,
        bool: True,
        tuple[Sheet, ...]: (Sheet("kind name", "d", 0),),
    }
    return plain.get(type) or get_args(type)[0]


@pytest.mark.parametrize("kind", get_args(Fact), ids=lambda kind: kind.__name__)
def test_every_kind_of_fact_is_read_back(kind: type[Fact]) -> None:
    fields = {}
    for field in msgspec.structs.fields(kind):
        if field.required:
            fields[field.name] = _sample(field.type)
    event = Event(1.0, 2.0, "p", 3, kind(**fields))

    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


def test_no_two_facts_share_a_name() -> None:
    names = [kind.__struct_config__.tag for kind in get_args(Fact)]

    assert len(set(names)) == len(names)


def test_files_of_many_processes_are_merged_by_time(tmp_path: Path) -> None:
    clock = ManualClock()
    recorders = [Recorder(tmp_path, name, clock=clock) for name in ("b", "a", "c")]
    for turn in range(6):
        recorders[turn % 3].note(Left(what=str(turn), count=turn))
        clock.advance(1)

    told = [event.fact.count for event in read_history(tmp_path) if isinstance(event.fact, Left)]

    assert told == [0, 1, 2, 3, 4, 5]


def test_events_of_one_process_keep_their_order_at_one_instant(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "p", clock=ManualClock())
    recorder.note(*(Left(what="x", count=n) for n in range(12)))
    for n in range(12, 24):
        recorder.note(Left(what="x", count=n))

    assert [event.seq for event in read_history(tmp_path)] == list(range(1, 25))
    assert in_order(reversed(read_history(tmp_path))) == read_history(tmp_path)


def test_threads_share_a_recorder(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "p")

    def write() -> None:
        for n in range(300):
            recorder.note(Left(what="x" * 200, count=n), Left(what="y", count=n))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = read_history(tmp_path)

    assert [event.seq for event in events] == list(range(1, 2_401))


def test_a_line_that_was_torn_by_death_is_left_out(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "p")
    recorder.note(Left(what="a", count=1))
    recorder.note(Left(what="b", count=2))
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])

    assert [event.fact for event in read_history(tmp_path)] == [Left(what="a", count=1)]


def test_a_line_that_is_no_event_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"mono": 1}\n')

    with pytest.raises(InvalidInput, match=r"x\.jsonl"):
        read_history(tmp_path)


def test_a_fault_is_told_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "nemesis", clock=ManualClock())
    with pytest.raises(ZeroDivisionError), recorder.fault("f1", "kill", "worker-3"):
        _ = 1 / 0

    assert [event.fact for event in read_history(tmp_path)] == [
        Fault(phase="begin", name="f1", what="kill", target="worker-3"),
        Fault(phase="end", name="f1", what="kill", target="worker-3"),
    ]


def test_a_recorder_may_be_closed_twice(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "p")
    recorder.close()
    recorder.close()


def test_nothing_to_tell_writes_nothing(tmp_path: Path) -> None:
    Recorder(tmp_path, "p").note()

    assert read_history(tmp_path) == []


def test_a_digest_tells_results_apart_and_nothing_else() -> None:
    assert digest("json", b"1") == digest("json", b"1")
    assert (
        len({digest("json", b"1"), digest("json", b"2"), digest("msgpack", b"1"), digest("json", b"")}) == 4
    )
    assert digest("json", None) is None
    assert "secret" not in (digest("json", b"secret") or "")


TELLER = """
import sys
from pathlib import Path
from noria.testing.events import Effect
from noria.testing.history import Recorder
recorder = Recorder(Path(sys.argv[1]), "child")
n = 0
while True:
    n += 1
    recorder.note(Effect(id="a", session=1, starts=n))
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
"""


def test_what_was_told_before_a_kill_is_there(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", TELLER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        heard = [child.stdout.readline() for _ in range(200)]
        child.send_signal(signal.SIGKILL)

    told = [event.fact.starts for event in read_history(tmp_path) if isinstance(event.fact, Effect)]

    assert told == list(range(1, len(told) + 1))
    assert len(told) >= int(heard[-1])
