"""The SQLite file under processes that die in the middle of a commit, and under people who move it away."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from noria import ids
from noria.errors import Unavailable
from noria.model.state import State
from noria.testing.events import Fault, PushEnd, PushInvoke
from tests.faults.fleet import PROGRAM, ROOT, STORM, Fleet, until
from tests.support.zygote import Zygote, kill

pytestmark = [pytest.mark.kill, pytest.mark.timeout(3_600 if STORM else 150)]

KILLS = 2_000 if STORM else 200
CHECK_EVERY = 20
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote("tests.faults.writer")
    yield zygote
    zygote.close()


def is_whole(store: Path) -> bool:
    """By the library that this process has the file open with: closing it by another would drop our locks on it."""
    with closing(apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.slow
@pytest.mark.storm
async def test_b28_200_kills_in_mid_commit_damage_nothing_and_lose_no_acknowledged_job(
    fleet: Fleet, zygote: Zygote, rng: random.Random
) -> None:
    (fleet.folder / "runtime").write_text(str(fleet.runtime))
    for number in range(KILLS):
        pid, peer = zygote.fork(str(fleet.folder))
        with peer:
            peer.settimeout(30)
            assert peer.recv(1) == b"!"
            end = time.monotonic() + rng.uniform(0.0, 0.05)
            while time.monotonic() < end:
                pass  # a sleep would favour the moments at which the writer waits for the disk
            kill(pid)
        fleet.recorder.note(Fault(phase="begin", name=f"kill {pid}", what="kill", target=f"writer-{pid}"))
        if number % CHECK_EVERY == 0:
            assert is_whole(fleet.store), f"damaged after {number} kills"
    assert is_whole(fleet.store)
    evidence = fleet.evidence()
    asked = {fact.id for _, fact in evidence.of(PushInvoke)}
    answered = {fact.id: event.proc for event, fact in evidence.of(PushEnd) if fact.end == "ok"}
    cut = {event.proc for event, fact in evidence.of(PushInvoke) if fact.id not in answered}
    print(
        f"{KILLS} kills, {len(cut)} of them in the middle of a call; {len(answered)} of {len(asked)} acknowledged"
    )
    assert len(cut) > KILLS / 2
    fleet.jobs = sorted(answered)
    assert len(await fleet.records()) == len(answered)


async def test_b28_what_was_cut_off_in_mid_commit_is_there_whole_or_not_at_all(
    fleet: Fleet, zygote: Zygote
) -> None:
    """And whatever is there runs once."""
    (fleet.folder / "runtime").write_text(str(fleet.runtime))
    for _ in range(5):
        pid, peer = zygote.fork(str(fleet.folder))
        with peer:
            assert peer.recv(1) == b"!"
            kill(pid)
    batches = defaultdict(list)
    for event, fact in fleet.evidence().of(PushInvoke):
        batches[event.proc, event.mono].append(fact.id)
    for batch in batches.values():
        found = await fleet.shop.backend.get([ids.from_text(id) for id in batch])
        assert len({record is None for record in found}) == 1, "half of a batch is there"
    fleet.jobs = [id for batch in batches.values() for id in batch]
    fleet.start("worker", "-c", "400")
    await until(fleet.rests, fleet.logs)
    runs = fleet.evidence().runs()
    assert all(len(each) == 1 for each in runs.values())
    await fleet.judge()


async def test_b30_a_vanished_file_fails_clearly_and_is_not_made_anew(fleet: Fleet) -> None:
    worker = fleet.start("worker")
    await worker.works()
    await fleet.put("quick", 1)
    await fleet.ended()
    away = fleet.store.with_name("away.db")
    fleet.store.rename(away)
    await worker.says("has vanished while it was in use: put it back, or restart all processes")
    with pytest.raises(Unavailable, match="has vanished"):
        await until(lambda: refused(fleet), "enqueue goes on into a file that nobody sees")
    restarted = fleet.start("restarted", program=("jobs", "--app", "tests.faults.application:app"))
    assert await restarted.ends() == 3, restarted.log
    assert "there is no store" in restarted.log
    assert not fleet.store.exists()
    away.rename(fleet.store)
    await until(lambda: accepted(fleet), "the store is back, and enqueue does not work")
    await fleet.ended()
    assert worker.code is None
    await fleet.judge()


async def refused(fleet: Fleet) -> bool:
    """Enqueue until it is refused: the file is looked at once a second."""
    fleet.jobs.append((await fleet.shop.find_task("quick").enqueue(2)).id.replace("-", ""))
    return False


async def accepted(fleet: Fleet) -> bool:
    try:
        await fleet.put("quick", 3)
    except Unavailable:
        return False
    return True


async def test_b30_a_replaced_file_is_not_taken_for_the_old_one(fleet: Fleet) -> None:
    worker = fleet.start("worker")
    await worker.works()
    copy = fleet.store.with_name("copy.db")
    shutil.copy(fleet.store, copy)
    os.replace(copy, fleet.store)
    await worker.says("was replaced by another file while it was in use")
    with pytest.raises(Unavailable, match="was replaced"):
        await until(lambda: refused(fleet), "enqueue goes on into a file that nobody sees")
    worker.signal(signal.SIGTERM)
    assert await worker.ends() in (0, 1, 3), worker.log
    assert "Traceback" not in worker.log


async def test_b30_a_read_only_store_is_refused_in_one_sentence(fleet: Fleet) -> None:
    await fleet.put("quick", 1)
    for path in fleet.folder.glob("shop.db*"):
        path.chmod(0o444)
    fleet.folder.chmod(0o555)
    environment = {
        **os.environ,
        "NORIA_URL": fleet.url,
        "FLEET_FOLDER": str(fleet.folder),
        "FLEET_NAME": "other",
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    for words in (["enqueue", "quick", "n=1"], ["worker", "--burst"]):
        done = subprocess.run(
            [*PROGRAM, *words, "--app", "tests.faults.application:app"],
            env=environment,
            preexec_fn=as_others,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 3, (words, done.returncode, done.stderr)
        assert "ermission denied" in done.stderr or "read-only" in done.stderr, done.stderr
        assert str(fleet.store) in done.stderr
        assert "Traceback" not in done.stderr
    fleet.folder.chmod(0o755)
    [record] = await fleet.records()
    assert record.state is State.QUEUED


def as_others() -> None:
    """Root may write whatever the modes say; without this capability it is a user like others."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)
