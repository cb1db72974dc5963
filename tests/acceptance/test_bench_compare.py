"""The comparison runs, and nothing that it starts outlives it. Nothing here is about speed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory

import pytest

from bench.child import BenchError
from bench.compare import servers
from bench.compare.guarded import guarded
from tests.support.source import ROOT

pytestmark = [pytest.mark.kill, pytest.mark.slow]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(pid: int) -> None:
    end = time.monotonic() + 20
    while lives(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.01)


def test_a_quick_run_without_a_server_measures_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    # When a few parts are run with Noria on its embedded store, and with a backend that may not be there
    command = [sys.executable, "-m", "bench.compare", "bulk", "off", "on", "trip", "--quick", "--json"]
    command += ["--only", "noria-sqlite", "--folder", str(tmp_path), "--results", str(tmp_path / "results")]
    done = subprocess.Popen(command, cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    try:
        output, said = done.communicate(timeout=50)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(done.pid, signal.SIGKILL)
    assert done.returncode == 0, said + output
    # Then each part has a figure, the run is not one to publish, and the files are there
    report = json.loads(output)
    found = {each["metric"] for each in report["figures"]}
    assert {"enqueue.bulk", "drain.off", "drain.on", "trip.p50"} <= found
    assert report["faults"] == [] and report["whole"] is False
    stem = tmp_path / "results" / f"{report['date']}-compare"
    assert json.loads(stem.with_suffix(".json").read_text()) == report
    # And nothing is left but the results
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_what_is_guarded_ends_with_whoever_asked_for_it(tmp_path: Path) -> None:
    # Given a process that guards another one, which has a child, and both ignore the signal to end
    stubborn = "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); pid = os.fork();"
    stubborn += f"pid and open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{pid}} ');"
    stubborn += "time.sleep(60)"
    asker = (
        "import os, sys, time; from pathlib import Path; import bench.compare.guarded as g; g.PATIENCE = 0.5;"
    )
    asker += (
        f"c = g.guarded([sys.executable, '-c', {stubborn!r}], os.environ, Path({str(tmp_path / 'log')!r}));"
    )
    asker += "c.__enter__(); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", asker], cwd=ROOT)
    pids = tmp_path / "pids"
    end = time.monotonic() + 20
    while not (pids.exists() and pids.read_text().endswith(" ")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)
    # When the asker is killed, so that it can clean up nothing
    process.kill()
    process.wait(20)
    # Then they are gone
    for pid in map(int, pids.read_text().split()):
        wait_until_dead(pid)


def test_what_ends_by_itself_is_a_fault_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such table'); raise SystemExit(3)"]
    with pytest.raises(BenchError, match="ended with 3: no such table"):  # noqa: SIM117 - the order matters
        with guarded(command, os.environ, tmp_path / "log") as running:
            running.guard.wait(20)


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_a_private_server_answers_and_is_gone_after_the_block(kind: servers.Kind) -> None:
    if missing := servers.missing(kind):
        pytest.skip(missing)
    # PostgreSQL may be another user, who cannot get through pytest's own folders.
    with TemporaryDirectory() as text:
        above = Path(text)
        above.chmod(0o711)
        folder, lasting = above / "server", above / "lasting"
        folder.mkdir()
        lasting.mkdir()
        with servers.serving(kind, folder, lasting) as server:
            assert server.url.startswith(("redis://127.0.0.1:", "postgresql://noria@127.0.0.1:"))
        # What it said last is that it has ended
        log = (folder / "server.log").read_text()
        assert "bye bye" in log or "database system is shut down" in log
