"""When a call waits for the disk: pushes after their commit, outcomes within it, leases never."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noria.backends.contract import Want
from noria.backends.sql.call import Call
from noria.backends.sql.push import Push
from noria.backends.sqlite.lease import Take
from noria.backends.sqlite.settings import Synchronous
from noria.backends.sqlite.settle import Settle
from noria.errors import Unknown
from noria.ids import SessionId
from tests.support.sqlite import QUEUE, Bench, succeeded

FULL, NORMAL = 2, 1


class Disk:
    """Counts how often the log is synced apart from a commit, and refuses while it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.syncs = 0
        self.broken = False
        self._sync: Callable[[int], None] = os.fdatasync
        monkeypatch.setattr(os, "fdatasync", self._count)

    def _count(self, file: int) -> None:
        self.syncs += 1
        if self.broken:
            raise OSError(5, "Input/output error")
        self._sync(file)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def opened(folder: Path, synchronous: Synchronous = "full") -> Bench:
    return Bench(folder / "noria.db", synchronous=synchronous)


def waits_within(bench: Bench, call: Call) -> bool:
    """Whether the commit of a call waited itself."""
    bench.ask(call)
    found = bench.engine._link._connected().pragma("synchronous")
    assert found in {FULL, NORMAL}
    return bool(found == FULL)


def take(session: SessionId) -> Take:
    return Take(session, [Want(QUEUE, 9)], 9)


def test_a_push_is_committed_without_waiting_and_then_synced(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)

    within = waits_within(bench, Push([bench.job()]))

    assert (within, disk.syncs) == (False, 1)


def test_what_a_push_brought_is_seen_before_the_disk_has_it(tmp_path: Path, disk: Disk) -> None:
    producer, worker = opened(tmp_path), opened(tmp_path)
    session = worker.open()

    calls = [Push([producer.job()])]
    replies = producer.engine.commit(calls)

    assert disk.syncs == 0
    assert producer.engine.take_notes() == [(f"queue:{QUEUE}", b"0")]
    assert len(worker.lease(session)) == 1
    assert len(producer.engine.land(calls, replies)[0]) == 1
    assert disk.syncs == 1


def test_an_outcome_waits_within_its_commit(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)
    session = bench.open()
    bench.push(bench.job())
    (lease,) = bench.lease(session)
    disk.syncs = 0

    within = waits_within(bench, Settle(session, [succeeded(lease)]))

    assert (within, disk.syncs) == (True, 0)


def test_a_push_beside_an_outcome_waits_within(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)
    session = bench.open()
    bench.push(bench.job())
    (lease,) = bench.lease(session)
    disk.syncs = 0

    bench.engine.apply([Push([bench.job()]), Settle(session, [succeeded(lease)])])

    assert disk.syncs == 0


def test_a_lease_never_waits(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)
    session = bench.open()
    bench.push(bench.job())
    disk.syncs = 0

    within = waits_within(bench, take(session))

    assert (within, disk.syncs) == (False, 0)


def test_a_store_that_need_not_survive_the_loss_of_power_is_never_synced(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path, "normal")

    bench.push(bench.job())

    assert disk.syncs == 0


def test_a_push_that_the_disk_does_not_confirm_is_unknown(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)
    disk.broken = True

    with pytest.raises(Unknown, match=r"noria.db: the disk cannot be written"):
        bench.push(bench.job())


def test_calls_that_promise_nothing_of_the_disk_are_answered_all_the_same(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)
    session = bench.open()
    disk.broken = True

    pushed, leased = bench.engine.apply([Push([bench.job()]), take(session)])

    assert isinstance(pushed, Unknown)
    assert len(leased.batch.leases) == 1


def test_a_disk_that_was_mended_is_used_again(tmp_path: Path, disk: Disk) -> None:
    bench = opened(tmp_path)
    disk.broken = True
    bench.engine.apply([Push([bench.job()])])
    disk.broken = False

    receipts = bench.push(bench.job())

    assert len(receipts) == 1


def test_the_log_that_is_synced_is_the_one_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, synced = opened(tmp_path), list[Any]()
    monkeypatch.setattr(os, "fdatasync", lambda file: synced.append(os.fstat(file).st_ino))
    bench.push(bench.job())
    # The last connection to a database takes the log with it.
    bench.close()
    bench.engine.open()

    bench.push(bench.job())

    assert synced[-1] == (tmp_path / "noria.db-wal").stat().st_ino


def test_without_fdatasync_a_push_waits_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noria.backends.sqlite.engine.APART", False)
    bench = opened(tmp_path)

    assert waits_within(bench, Push([bench.job()]))
