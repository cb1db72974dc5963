"""What goes wrong with the file is told clearly, loses nothing, and is over when it is mended."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from noria.backends.contract import Parts
from noria.backends.sql.push import Push
from noria.backends.sql.records import Get
from noria.backends.sql.tallies import Count
from noria.backends.sqlite import SqliteBackend
from noria.backends.sqlite.faults import translate
from noria.errors import Unavailable, Unknown
from noria.ids import IdSource
from noria.model.state import State
from tests.support.manual import ManualClock
from tests.support.sqlite import QUEUE, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "noria.db", timeout=0.1)


def queued(bench: Bench) -> int:
    counts = bench.ask(Count())
    return sum(queue.states.get(State.QUEUED, 0) for queue in counts.queues.values())


@contextmanager
def unprivileged() -> Iterator[None]:
    """Without the rights of root, whom no mode of a file or folder keeps out."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user may enter and read, and only its owner may write."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    Bench(folder / "there.db").push()
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["there.db", "new.db"])
def test_a_store_that_may_not_be_written_is_told_with_its_remedies(shared: Path, name: str) -> None:
    with unprivileged(), pytest.raises(Unavailable) as raised:
        Bench(shared / name).push()

    told = str(raised.value)
    assert str(shared / name) in told
    assert "give this user the right to write the file and its directory" in told
    assert "or name a file elsewhere: NORIA_URL=sqlite:////PATH" in told


def test_a_folder_that_is_not_there_is_told_with_its_remedies(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not exist: create it, or name a file elsewhere: NORIA_URL="):
        Bench(tmp_path / "missing" / "noria.db")


def test_a_vanished_file_is_a_clear_failure_and_no_new_file(bench: Bench, tmp_path: Path) -> None:
    """B30."""
    bench.push(bench.job())
    (tmp_path / "noria.db").rename(tmp_path / "moved.db")
    bench.clock.advance(2)

    with pytest.raises(Unavailable, match=r"noria\.db has vanished while it was in use: put it back"):
        bench.push(bench.job())

    assert not (tmp_path / "noria.db").exists()


def test_a_file_that_was_put_back_is_used_again(bench: Bench, tmp_path: Path) -> None:
    bench.push(bench.job())
    (tmp_path / "noria.db").rename(tmp_path / "moved.db")
    bench.clock.advance(2)
    with pytest.raises(Unavailable):
        bench.push(bench.job())
    (tmp_path / "moved.db").rename(tmp_path / "noria.db")

    bench.push(bench.job())

    assert queued(bench) == 2


async def test_a_store_that_is_reached_by_a_link_is_the_store_itself(tmp_path: Path, short_tmp: Path) -> None:
    """SQLite names the log after the file that a link means, and the lock must be shared as well."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "noria.db")
    clock = ManualClock()
    backend = SqliteBackend(tmp_path / "link.db", runtime=short_tmp, clock=clock, ids=IdSource(clock))
    await backend.start()

    receipts = await backend.push([Bench().job()])
    await backend.aclose()

    assert [receipt.status for receipt in receipts] == ["created"]
    assert [path.name for path in tmp_path.iterdir() if not path.is_dir()] == ["link.db"]


def test_a_replaced_file_is_a_clear_failure(bench: Bench, tmp_path: Path) -> None:
    bench.push(bench.job())
    shutil.copy(tmp_path / "noria.db", tmp_path / "copy.db")
    os.replace(tmp_path / "copy.db", tmp_path / "noria.db")
    bench.clock.advance(2)

    with pytest.raises(Unavailable, match="was replaced by another file"):
        bench.push(bench.job())


def test_even_a_new_connection_stays_with_its_file(bench: Bench, tmp_path: Path) -> None:
    """A keeper or reader that connects late must not be fooled by what stands at the path by then."""
    twin = bench.engine.twin()
    shutil.copy(tmp_path / "noria.db", tmp_path / "copy.db")
    os.replace(tmp_path / "copy.db", tmp_path / "noria.db")

    (reply,) = twin.apply([Count()])

    assert isinstance(reply, Unavailable)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everything, so it steps down for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65_534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_read_only_file_is_a_clear_failure(short_tmp: Path) -> None:
    """B30."""
    path = short_tmp / "noria.db"
    Bench(path).close()
    path.chmod(0o444)
    short_tmp.chmod(0o555)

    with as_nobody(), pytest.raises(Unavailable, match=r"right to write|directory exist and may be written"):
        bench = Bench(path, timeout=0.1)
        bench.push(bench.job())


def test_a_full_disk_fails_the_call_and_nothing_else(bench: Bench) -> None:
    """R1. The limit on pages stands in for the disk: SQLite answers both alike."""
    connection = bench.engine._link._connected()
    bench.push(bench.job())
    pages = connection.pragma("page_count")
    connection.pragma("max_page_count", pages)

    with pytest.raises(Unavailable, match="disk is full"):
        bench.push(*(bench.job(body=b'"' + b"x" * 300 + b'"') for _ in range(100)))
    assert queued(bench) == 1

    connection.pragma("max_page_count", 1_000_000)
    bench.push(bench.job())
    assert queued(bench) == 2


def test_a_lock_that_another_program_keeps_is_named(bench: Bench, tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "noria.db"))
    other.execute("begin immediate")

    with pytest.raises(Unavailable, match="another program has locked it"):
        bench.push(bench.job())

    other.execute("rollback")
    bench.push(bench.job())
    assert queued(bench) == 1


def test_a_damaged_file_is_named(bench: Bench, tmp_path: Path) -> None:
    bench.push(*(bench.job(body=b'"' + b"x" * 300 + b'"') for _ in range(100)))
    bench.close()
    size = (tmp_path / "noria.db").stat().st_size
    with open(tmp_path / "noria.db", "r+b") as file:
        file.seek(8192)
        file.write(os.urandom(size - 8192))

    with pytest.raises(Unavailable, match="damaged"):
        broken = Bench(tmp_path / "noria.db", timeout=0.1)
        broken.push(broken.job())


def test_every_call_of_a_group_hears_of_a_fault_of_the_store(bench: Bench, tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "noria.db"))
    other.execute("begin immediate")

    replies = bench.engine.apply([Push([bench.job()]), Push([bench.job()]), Get([], Parts.NONE)])

    assert [type(reply) for reply in replies] == [Unavailable, Unavailable, list]
    other.close()


@pytest.mark.parametrize(
    "error",
    [
        apsw.FullError,
        apsw.ReadOnlyError,
        apsw.CantOpenError,
        apsw.CorruptError,
        apsw.BusyError,
        apsw.SQLError,
    ],
)
def test_an_error_before_the_commit_is_certain(error: type[apsw.Error]) -> None:
    assert isinstance(translate(error("it"), "noria.db"), Unavailable)


def test_a_commit_that_could_not_be_synced_is_uncertain() -> None:
    """What was written to the log may be found there after a restart."""
    assert isinstance(translate(apsw.IOError("fsync"), "noria.db", committing=True), Unknown)
    assert isinstance(translate(apsw.FullError("full"), "noria.db", committing=True), Unavailable)


def test_a_message_names_the_file_and_the_remedy() -> None:
    message = str(translate(apsw.FullError("database or disk is full"), "/data/noria.db"))

    assert "/data/noria.db" in message
    assert "free some space" in message
    assert QUEUE not in message


async def test_a_backend_that_was_opened_before_a_fork_refuses_in_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection must not be used by two processes; SQLite's documentation says what happens then."""
    clock = ManualClock()
    backend = SqliteBackend(
        tmp_path / "noria.db", runtime=tmp_path, clock=clock, ids=IdSource(clock), inline=True
    )
    await backend.start()
    pid = os.getpid()

    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: pid + 1)
        with pytest.raises(Unavailable, match="opened before this process was forked"):
            await backend.counts()

    assert (await backend.counts()).erased == 0
    await backend.aclose()
