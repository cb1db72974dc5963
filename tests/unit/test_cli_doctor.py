"""What the doctor says about what it sees."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import apsw
import pytest

from noria.app.config import runtime_folder
from noria.backends.contract import (
    Counts,
    Kin,
    Overdue,
    QueueCounts,
    Tallied,
    Vitals,
    WorkerCard,
    WorkerLine,
)
from noria.cli import checks_host, checks_store, checks_work
from noria.cli.finding import Finding, Mark
from noria.ids import SessionId
from noria.model.state import State
from noria.worker.journal import FileJournals
from noria.worker.outside import JOURNALS

GIB = 1024**3


def marks(findings: Any) -> list[Mark]:
    return [finding.mark for finding in findings]


@pytest.mark.parametrize(
    ("finding", "mark"),
    [
        (checks_host.check_sqlite("3.51.3"), Mark.OK),
        (checks_host.check_sqlite("3.54.1"), Mark.OK),
        (checks_host.check_sqlite("3.51.2"), Mark.FAILED),
        (checks_host.check_sqlite("3.40.1"), Mark.FAILED),
        (checks_host.check_files(1024), Mark.OK),
        (checks_host.check_files(resource.RLIM_INFINITY), Mark.OK),
        (checks_host.check_files(256), Mark.WARNING),
        (checks_host.check_disk(Path("d"), 50 * GIB, 100 * GIB), Mark.OK),
        (checks_host.check_disk(Path("d"), GIB // 2, 100 * GIB), Mark.WARNING),
        (checks_host.check_disk(Path("d"), 2 * GIB, 100 * GIB), Mark.WARNING),
        (checks_host.check_disk(Path("d"), GIB // 100, 100 * GIB), Mark.FAILED),
        (checks_host.check_modes(Path("f"), 0o100600, 7, 7), Mark.OK),
        (checks_host.check_modes(Path("f"), 0o100644, 7, 7), Mark.NOTE),
        (checks_host.check_modes(Path("f"), 0o100664, 7, 7), Mark.FAILED),
        (checks_host.check_modes(Path("f"), 0o100600, 8, 7), Mark.WARNING),
        (checks_store.check_journal("wal"), Mark.OK),
        (checks_store.check_journal("delete"), Mark.FAILED),
        (checks_store.check_synchronous("full"), Mark.OK),
        (checks_store.check_synchronous("normal"), Mark.WARNING),
        (checks_store.check_log(10), Mark.OK),
        (checks_store.check_log(GIB), Mark.WARNING),
        (checks_store.check_whole(["ok"]), Mark.OK),
        (checks_store.check_whole(["row 1 missing from index x", "and more"]), Mark.FAILED),
    ],
)
def test_each_check_judges_and_names_the_fix(finding: Finding, mark: Mark) -> None:
    assert finding.mark is mark
    assert bool(finding.fix) == (mark in (Mark.WARNING, Mark.FAILED))


def test_network_file_systems_are_found() -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nserver:/x /mnt/far\\040away nfs4 rw 0 0\n"
    far = checks_host.check_mount(Path("/mnt/far away/noria.db"), mounts)
    near = checks_host.check_mount(Path("/mnt/far/noria.db"), mounts)
    assert far is not None
    assert near is not None
    assert (far.mark, near.mark) == (Mark.FAILED, Mark.OK)
    assert checks_host.check_mount(Path("/x"), "") is None


def test_a_store_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    file.write_text("no database " * 1000)
    found = list(checks_store.check_store(file, "full", whole=True, tick=lambda n: None))
    assert marks(found)[-1] is Mark.FAILED
    missing = list(checks_store.check_store(tmp_path / "gone.db", "full", whole=True, tick=lambda n: None))
    assert marks(missing) == [Mark.FAILED]


def test_a_whole_store_is_whole_and_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    before = file.read_bytes()
    assert set(marks(checks_store.check_store(file, "full", whole=True, tick=lambda n: None))) == {Mark.OK}
    assert file.read_bytes() == before


def worker(
    *, tasks: tuple[str, ...] = ("send",), queues: tuple[str, ...] = ("mail",), seen: float = 100.0
) -> WorkerLine:
    card = WorkerCard(worker="w", host="h", pid=1, tasks=tasks, queues=queues)
    return WorkerLine(session=SessionId(1), card=card, vitals=Vitals(), opened=0.0, beat=1, seen=seen)


def test_sessions_of_the_dead_and_clocks_that_jumped() -> None:
    assert marks(checks_work.check_sessions([], [worker()], 101.0)) == [Mark.OK, Mark.NOTE]
    late = list(checks_work.check_sessions([Overdue(SessionId(1), 1, "w\x1b")], [], 101.0))
    assert marks(late) == [Mark.OK, Mark.WARNING, Mark.NOTE]
    assert "w\\x1b" in late[1].text
    [jumped, _] = checks_work.check_sessions([], [worker(seen=4000.0)], 101.0)
    assert (jumped.check, jumped.mark) == ("clocks", Mark.WARNING)


def test_jobs_whose_task_nobody_knows() -> None:
    parked = Kin("old", State.PARKED, 2)
    queued = Kin("send", State.QUEUED, 1)
    [found] = checks_work.check_tasks(Tallied(3, kin=[parked, queued]), [worker()], ())
    assert found.mark is Mark.WARNING
    assert found.text.startswith("2 waiting jobs of task old")
    assert "of this application" in checks_work.check_tasks(Tallied(2, kin=[parked]), [], ("old",))[0].fix
    assert marks(checks_work.check_tasks(Tallied(1, kin=[queued]), [worker()], ())) == [Mark.OK]


@pytest.mark.parametrize("limit", ["capped", "scan_limited"])
def test_a_count_that_may_go_on_says_so(limit: str) -> None:
    waiting = Tallied(10_000, kin=[Kin("old", State.QUEUED, 10_000)], **{limit: True})
    [found] = checks_work.check_tasks(waiting, [worker()], ())
    assert found.text.startswith("at least 10,000 waiting jobs of task old")


def test_jobs_of_one_task_in_several_states_are_one_count() -> None:
    kin = [Kin("old", State.PARKED, 2_000), Kin("old", State.QUEUED, 1_001)]
    [found] = checks_work.check_tasks(Tallied(3_001, kin=kin), [worker()], ())
    assert found.text.startswith("3,001 waiting jobs of task old")


@pytest.mark.parametrize("target", ["nowhere/x.db", "l.db"])
def test_a_link_that_leads_nowhere_is_told(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    link = short_tmp / "l.db"
    link.symlink_to(target)
    found = list(checks_host.check_host(link))
    assert found[-1].mark is Mark.FAILED
    assert "l.db" in found[-1].text
    assert not checks_host.may_be_made(link)


def test_a_link_to_a_store_that_can_be_made_is_fine(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    (short_tmp / "real").mkdir()
    link = short_tmp / "l.db"
    link.symlink_to("real/x.db")
    assert Mark.FAILED not in marks(checks_host.check_host(link))
    assert checks_host.may_be_made(link)


def test_workers_with_another_runtime_folder_are_told(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each live worker keeps its journal in the folder in which hints meet."""
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    store = short_tmp / "x.db"
    session = SessionId(1)
    [apart] = checks_host.check_meeting(store, [worker()], 100.0)
    assert (apart.mark, "NORIA_RUNTIME_DIR" in apart.fix) == (Mark.WARNING, True)
    assert checks_host.check_meeting(store, [worker()], 1.0) == []
    assert checks_host.check_meeting(store, [], 100.0) == []

    journal = FileJournals(runtime_folder(store) / JOURNALS, "h").create(session, 1)
    assert marks(checks_host.check_meeting(store, [worker()], 100.0)) == [Mark.OK]
    journal.close()


def test_queues_that_nobody_serves_and_dead_letters() -> None:
    queues = {"mail": QueueCounts({State.QUEUED: 3}, dead=2), "other": QueueCounts({State.QUEUED: 1})}
    found = list(checks_work.check_queues(Counts(queues, [worker()])))
    assert [(each.check, each.mark) for each in found] == [
        ("queues", Mark.WARNING),
        ("dead letters", Mark.WARNING),
    ]
    assert "other" in found[0].text
    assert marks(checks_work.check_queues(Counts({}, []))) == [Mark.OK]
