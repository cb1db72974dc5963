"""The examples run as a user runs them, and what they tell is true."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.source import ROOT

EXAMPLES = ROOT / "examples"
QUICKSTART = EXAMPLES / "quickstart" / "app.py"
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
NORIA = [str(Path(sys.executable).with_name("noria"))]

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def environment(folder: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "NORIA_RUNTIME_DIR": str(folder / "run"), "NO_COLOR": "1", **more}


@contextmanager
def up(folder: Path, **more: str) -> Iterator[subprocess.Popen[str]]:
    """`make run`, but for the set-up: `noria up` on the quick-start example, in a folder of its own."""
    process = subprocess.Popen(
        [*NORIA, "up", str(QUICKSTART)],
        cwd=folder,
        env=environment(folder, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_until(process: subprocess.Popen[str], word: str) -> str:
    """What a process prints, up to the first line that holds a word."""
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if word in line:
            break
    else:
        raise AssertionError(f"never printed {word!r}:\n{''.join(printed)}")
    return "".join(printed)


def stop(process: subprocess.Popen[str]) -> int:
    """Ctrl-C, once; the exit code."""
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    return process.returncode


def total(summary: str, what: str) -> int:
    """A number of the summary."""
    found = re.search(rf"(?m)^\| {re.escape(what)} \| ([\d,]+) \|$", summary)
    assert found is not None, f"no {what} in:\n{summary}"
    return int(found[1].replace(",", ""))


def noria(folder: Path, *words: str) -> str:
    """What a command prints."""
    run = subprocess.run(
        [*NORIA, *words], cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def ended(folder: Path, example: str, *, seconds: float) -> subprocess.CompletedProcess[str]:
    """An example that ends by itself, and well."""
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / example)],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert run.returncode == 0, run.stderr
    return run


def test_make_run_starts_the_quick_start_example() -> None:
    makefile = (ROOT / "Makefile").read_text()

    assert re.search(r"(?m)^run:.*\n\t.*noria up examples/quickstart/app\.py$", makefile)


def test_the_quick_start_writes_a_summary_and_stays_up(short_tmp: Path) -> None:
    with up(short_tmp, QUICKSTART_FILES="60") as process:
        printed = read_until(process, "Done: the summary is in")
        path = Path(printed.rsplit("Done: the summary is in ", 1)[1].strip())
        summary = path.read_text()

        assert path == short_tmp / "stdlib-index.md"
        assert total(summary, "files") == 60
        assert noria(
            short_tmp, "enqueue", "count_lines", "module=bisect", "--wait", "20", "--app", str(QUICKSTART)
        ) == (f"{len((LIBRARY / 'bisect.py').read_bytes().splitlines())}\n")
        assert stop(process) == 0


def test_a_restarted_quick_start_begins_no_second_index_beside_the_first(short_tmp: Path) -> None:
    with up(short_tmp, QUICKSTART_FILES="600") as process:
        first = read_until(process, "The index is job").rsplit("The index is job ", 1)[1]
        process.kill()
    with up(short_tmp, QUICKSTART_FILES="60") as process:
        again = read_until(process, "The index is job").rsplit("The index is job ", 1)[1]
        read_until(process, "Done: the summary is in")
        assert stop(process) == 0

    assert again.strip() == f"{first.strip().rstrip('.')}, begun before."
    assert noria(short_tmp, "jobs", "list", "task:index", "--json").count("\n") == 1


@pytest.mark.timeout(180)
def test_the_whole_library_is_indexed_and_the_numbers_are_right(short_tmp: Path) -> None:
    files = [
        path
        for path in LIBRARY.rglob("*.py")
        if not {"site-packages", "dist-packages", "__pycache__"} & set(path.relative_to(LIBRARY).parts)
    ]
    with up(short_tmp) as process:
        read_until(process, "Done: the summary is in")
        assert stop(process) == 0
    summary = (short_tmp / "stdlib-index.md").read_text()

    assert total(summary, "files") == len(files)
    assert total(summary, "bytes") == sum(path.stat().st_size for path in files)
    assert total(summary, "lines") == sum(len(path.read_bytes().splitlines()) for path in files)
    assert 0 < total(summary, "of these `async def`") < total(summary, "functions")
    assert "| os |" in summary and "| sys |" in summary


def test_the_mixed_example_shows_what_it_promises(short_tmp: Path) -> None:
    run = ended(short_tmp, "mixed/drive.py", seconds=50)
    out = run.stdout

    loop, threads = (float(found) for found in re.findall(r"took ([\d.]+) s", out))
    assert loop < 0.9 < threads, "jobs on the loop must not wait for jobs in threads"
    assert "the other one: 111 steps" in out
    assert "ended with exit code 3" in out
    assert "careless" in run.stderr and "has blocked the event loop" in run.stderr
    assert "time.sleep(seconds)" in run.stderr, "the log names the line"
    assert "The worker ended: clean." in out
    assert "came too late" not in run.stderr


def test_the_timer_example_gives_one_output_a_run_and_tells_every_skipped_slot(short_tmp: Path) -> None:
    out = ended(short_tmp, "timer_overlap/app.py", seconds=90).stdout

    [(ran, skipped, missed)] = re.findall(r"(\d+) slots ran, (\d+) were skipped, (\d+) were missed", out)
    outputs = re.findall(r"pages of (\S+)", out)
    assert len(outputs) == len(set(outputs)) == int(ran) <= 4
    assert int(ran) + int(skipped) + int(missed) >= 19


def test_the_workflow_example_enqueues_nothing_for_the_attempt_that_broke(short_tmp: Path) -> None:
    out = ended(short_tmp, "workflow/app.py", seconds=90).stdout

    lines = out.splitlines()
    assert lines[0] == "list of a.example: 3 entries, attempt 2"
    assert sorted(lines[1:4]) == ["detail bread", "detail milk", "detail tea"]
    assert lines[4:6] == ["all of a.example is there", "a.example is done"]
    assert lines[6].startswith("alarm cancelled: it was to follow a failure")


def test_in_the_example_of_tenants_a_small_one_does_not_wait_for_a_large_one(short_tmp: Path) -> None:
    out = ended(short_tmp, "tenants/app.py", seconds=90).stdout

    [(few, last)] = re.findall(r"the (\d+) jobs of the small one were done among the next (\d+)", out)
    assert int(few) == 10
    assert int(last) < 300, "of two thousand that were there first"
    [ratio] = re.findall(r"gold had ([\d.]+)", out)
    assert 1.5 < float(ratio) < 4.5


def test_the_crawler_fetches_each_page_once_through_four_tunnels_and_holds_its_list_pages(
    short_tmp: Path,
) -> None:
    out = ended(short_tmp, "crawler_queues/app.py", seconds=90).stdout

    assert "40 list pages and 400 detail pages" in out
    assert "0 pages were fetched twice" in out
    [most] = re.findall(r"(\d+) requests at once", out)
    assert 2 <= int(most) <= 4
    [waited] = re.findall(r"(\d+) detail pages waited", out)
    assert int(waited) < 30 + 4 * 12, "less than the mark, and what four list pages have brought meanwhile"
    [details] = re.findall(r"(\d+) of the first 200", out)
    assert 100 <= int(details) < 200, "detail pages have the larger share, and list pages go on"


def test_the_tested_example_passes_its_tests(short_tmp: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=EXAMPLES / "tested",
        env=environment(short_tmp),
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert run.returncode == 0, run.stdout
    assert "4 passed" in run.stdout


@pytest.mark.parametrize(
    "folder", sorted(path for path in EXAMPLES.iterdir() if path.is_dir()), ids=lambda path: path.name
)
def test_every_example_has_a_few_words_and_names_its_files(folder: Path) -> None:
    words = (folder / "README.md").read_text()

    assert len(words.splitlines()) <= 25
    assert [path.name for path in folder.glob("*.py") if path.name not in words] == []


def test_every_example_is_typed() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in EXAMPLES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is None
    ]

    assert bare == []
