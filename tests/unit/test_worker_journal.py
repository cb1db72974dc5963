"""Run journals: complete and locked from their first moment, readable after any death, harmless when torn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noria.backends.contract import Fence
from noria.ids import Id, SessionId
from noria.worker.journal import FileJournals, Remains

CHILD = """
import sys, time
from pathlib import Path
from noria.ids import Id, SessionId
from noria.worker.journal import FileJournals
journal = FileJournals(Path(sys.argv[1]), "here").create(SessionId(int(sys.argv[2])), 4)
journal.begin(0, Id(bytes(15) + b"a"), 1)
journal.begin(1, Id(bytes(15) + b"b"), 2)
journal.begin(3, Id(bytes(15) + b"d"), 4)
journal.clear(1)
print("ready", flush=True)
time.sleep(60)
"""


def id_of(letter: str) -> Id:
    return Id(bytes(15) + letter.encode())


@pytest.fixture
def journals(tmp_path: Path) -> FileJournals:
    return FileJournals(tmp_path / "journals", "here")


def found(journals: FileJournals) -> list[Remains]:
    with journals.remains() as dead:
        return dead


def killed(folder: Path, session: int) -> int:
    """Leave the journal of a process that was killed; its id."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder / "journals"), str(session)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGKILL)
    return child.pid


def left_behind(folder: Path, session: int) -> None:
    """The same without a process: bytes that nobody has locked."""
    journal = FileJournals(folder / "journals", "here").create(SessionId(session), 4)
    path = folder / "journals" / f"{session:016x}.run"
    content = path.read_bytes()
    journal.close()
    path.write_bytes(content)


def test_the_journal_of_a_living_process_is_left_alone(journals: FileJournals, tmp_path: Path) -> None:
    mine = journals.create(SessionId(7), 2)
    mine.begin(0, id_of("a"), 1)
    assert found(journals) == []
    mine.close()
    assert list((tmp_path / "journals").iterdir()) == []
    assert found(journals) == []


def test_a_killed_process_tells_what_had_begun_and_not_ended(journals: FileJournals, tmp_path: Path) -> None:
    pid = killed(tmp_path, 2**63 - 1)
    [dead] = found(journals)
    assert dead.session == 2**63 - 1
    assert dead.started == (Fence(id_of("a"), 1), Fence(id_of("d"), 4))
    assert (dead.evidence.host, dead.evidence.pid) == ("here", pid)
    assert str(pid) in dead.evidence.cause
    assert found(journals) == [], "told once"


def test_a_journal_that_could_not_be_dealt_with_stays(journals: FileJournals, tmp_path: Path) -> None:
    left_behind(tmp_path, 5)
    with pytest.raises(OSError, match="away"), journals.remains() as dead:
        assert len(dead) == 1
        raise OSError("the backend is away")
    assert len(found(journals)) == 1


def test_two_finders_never_share_a_journal(journals: FileJournals, tmp_path: Path) -> None:
    for session in range(1, 4):
        left_behind(tmp_path, session)
    others = FileJournals(tmp_path / "journals", "here")
    with journals.remains() as mine, others.remains() as theirs:
        assert (len(mine), len(theirs)) == (3, 0)
    assert found(others) == []


def test_many_finders_find_each_journal_once(tmp_path: Path) -> None:
    journals = FileJournals(tmp_path / "journals", "here")
    for session in range(1, 6):
        left_behind(tmp_path, session)
    seen: list[SessionId] = []
    gate = threading.Barrier(6)

    def look() -> None:
        mine = FileJournals(tmp_path / "journals", "here")
        gate.wait(10)
        for _ in range(50):
            seen.extend(each.session for each in found(mine))

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(seen) == [1, 2, 3, 4, 5]
    assert found(journals) == []


def test_journals_may_be_made_and_closed_while_others_look(tmp_path: Path) -> None:
    journals = FileJournals(tmp_path / "journals", "here")
    ended = threading.Event()
    seen: list[Remains] = []

    def look() -> None:
        while not ended.is_set():
            seen.extend(found(FileJournals(tmp_path / "journals", "here")))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for session in range(1, 300):
            mine = journals.create(SessionId(session), 100)
            mine.begin(0, id_of("a"), 1)
            mine.close()
    finally:
        ended.set()
        thread.join(10)
    assert seen == []


@pytest.mark.parametrize("size", [0, 1, 11, 12, 13, 50, 91, 92, 93, 110])
def test_a_torn_journal_is_dropped_and_hinders_nobody(
    journals: FileJournals, tmp_path: Path, size: int
) -> None:
    """Its session is ended as overdue: nothing is lost with it."""
    left_behind(tmp_path, 5)
    [path] = (tmp_path / "journals").iterdir()
    os.truncate(path, size)
    left_behind(tmp_path, 6)
    assert [each.session for each in found(journals)] == [6]
    assert list((tmp_path / "journals").iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 500, b"noria-run-1\0", b"noria-run-1\0" + b"\xff" * 500, b"x"]
)
def test_a_foreign_file_hinders_nobody(journals: FileJournals, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "journals" / "0000000000000001.run").write_bytes(content)
    assert found(journals) == []


def test_links_and_folders_in_place_of_journals_are_not_followed(
    journals: FileJournals, tmp_path: Path
) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    (tmp_path / "journals" / "a.run").symlink_to(treasure)
    (tmp_path / "journals" / "b.run").mkdir()
    assert found(journals) == []
    assert treasure.read_text() == "mine"


def test_a_folder_that_vanished_is_an_empty_one(journals: FileJournals, tmp_path: Path) -> None:
    (tmp_path / "journals").rmdir()
    assert found(journals) == []


def test_the_journal_is_private(journals: FileJournals, tmp_path: Path) -> None:
    mine = journals.create(SessionId(1), 1)
    assert (tmp_path / "journals").stat().st_mode & 0o077 == 0
    [path] = (tmp_path / "journals").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    mine.close()


def test_a_handler_that_outlives_the_session_may_still_end(journals: FileJournals) -> None:
    mine = journals.create(SessionId(1), 1)
    mine.begin(0, id_of("a"), 1)
    mine.close()
    mine.clear(0)


def test_a_long_or_strange_host_name_fits(tmp_path: Path) -> None:
    for host in ("é" * 64, "x" * 300, ""):
        journals = FileJournals(tmp_path / "journals", host)
        journals.create(SessionId(1), 1).close()
