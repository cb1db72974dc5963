"""Each exit code means one thing, and every error finds its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from noria import errors
from noria.cli import main
from noria.cli.exits import MEANINGS, ExitCode, ImportFault, NoAnswer, Stop, code_of, table
from noria.worker.ending import WorkerFault


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.JobFailed("x"), 1),
        (errors.JobCancelled("x"), 1),
        (errors.JobExpired("x"), 1),
        (ImportFault("x"), 2),
        (errors.ConfigError("x"), 2),
        (errors.InvalidArguments("x"), 2),
        (errors.InvalidOption("x"), 2),
        (errors.Unavailable("x"), 3),
        (errors.Unknown("x"), 3),
        (NoAnswer("x"), 3),
        (errors.JobNotFound("x"), 4),
        (errors.UnknownTask("x"), 4),
        (errors.WrongState("x"), 5),
        (errors.DuplicateJob("x"), 5),
        (errors.QueueFull("x", queue="q", job_ids=()), 5),
        (errors.WaitTimeout("x"), 6),
        (Stop(ExitCode.NOTHING_MATCHED), 8),
        (ZeroDivisionError("x"), 70),
        (errors.NotRunning("x"), 70),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
    ],
)
def test_every_error_has_its_code(error: BaseException, code: int) -> None:
    assert code_of(error) == code


def test_a_fault_of_a_worker_means_what_its_part_died_of() -> None:
    fault = WorkerFault("beat failed")
    fault.__cause__ = errors.Unavailable("gone")
    assert code_of(fault) is ExitCode.UNREACHABLE
    fault.__cause__ = ZeroDivisionError()
    assert code_of(fault) is ExitCode.BUG


def test_every_code_has_a_meaning_and_stands_in_the_table() -> None:
    assert set(MEANINGS) == set(ExitCode)
    shown = {int(line.split()[0]) for line in table()}
    assert shown == {int(code) for code in ExitCode}


@pytest.mark.parametrize("command", [*main.COMMANDS, "", "no-such-command"])
@pytest.mark.parametrize("before", [[], ["--app"], ["--url"]])
def test_bytes_that_are_no_text_are_wrong_use_of_every_command(
    command: str, before: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*filter(None, [command]), *before, "caf\udce9"]) is ExitCode.USAGE
    assert "is not UTF-8 text: b'caf\\xe9'" in capfd.readouterr().err


def test_an_environment_variable_that_is_no_text_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NORIA_APP", "caf\udce9")
    assert main.run(["jobs"]) is ExitCode.USAGE
    assert "NORIA_APP is not UTF-8 text" in capfd.readouterr().err


def test_help_shows_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^ +{int(code)} ", text, re.MULTILINE) for code in ExitCode)


def test_wrong_use_is_2_and_says_so_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["nonsense"],
        ["jobs", "list", "--limit", "0"],
        ["jobs", "list", "state:wrong"],
        ["jobs", "show", "x"],
    ):
        assert main.run(words) == 2, words
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err != ""


def test_no_store_is_3_and_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["jobs"], ["dead"], ["queues"], ["jobs", "show", "0" * 8]):
        assert main.run(words) == 3
        assert "there is no store" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_bug_is_70_and_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> dict[str, str]:
        raise RuntimeError("sqlite://user:geheim@host is odd")

    monkeypatch.setattr("noria.cli.version.versions", broken)
    assert main.run(["version"]) == 70
    captured = capsys.readouterr()
    assert "report" in captured.err
    assert "geheim" not in captured.err
    assert "Traceback" not in captured.err
    assert main.run(["version", "--verbose"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> dict[str, str]:
        raise KeyboardInterrupt

    monkeypatch.setattr("noria.cli.version.versions", interrupted)
    assert main.run(["version"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_141_without_a_word() -> None:
    command = (
        "import sys; from noria.cli import main, version\n"
        "version.versions = lambda: {str(n): 'x' * 100 for n in range(5000)}\n"
        "sys.exit(main.run(['version']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.wait(20) == 141


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--lift", "concurrency", "--concurrency", "3"], "concurrency is both set and lifted"),
        (["--lift", "order,max-age", "--max-age", "1h"], "max-age is both set and lifted"),
        (["--lift", "all,speed"], "there is no limit 'speed'"),
        ([], "name a limit"),
    ],
)
def test_limits_that_nobody_can_mean_are_wrong_use(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["queues", "limit", "mail", *words]) is ExitCode.USAGE
    assert told in capsys.readouterr().err
