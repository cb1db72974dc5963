"""Common flags work before and after the command and from the environment; the command line wins."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata

import click
import pytest

from noria.cli import main
from noria.cli.command import Command, Group
from noria.cli.flags import CommonFlag, Flags, common_flags, flags_of


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Flags]:
    found: list[Flags] = []

    @click.command(cls=Command, use="reads")
    @click.pass_context
    def probe(ctx: click.Context) -> None:
        found.append(flags_of(ctx))

    group = Group("group", commands=[probe])
    monkeypatch.setattr(
        main.Program, "get_command", lambda self, ctx, name: {"probe": probe, "group": group}.get(name)
    )
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["--url", "sqlite:///a", "--json", "--timeout", "2m", "probe"],
        ["probe", "--url", "sqlite:///a", "--json", "--timeout", "120"],
        ["--json", "group", "--url=sqlite:///a", "probe", "--timeout", "120s"],
    ],
)
def test_flags_stand_anywhere(seen: list[Flags], words: list[str]) -> None:
    assert main.run(words) == 0
    assert seen == [Flags(url="sqlite:///a", json=True, timeout=120.0)]


def test_flags_come_from_the_environment(seen: list[Flags], monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"URL": "sqlite:///e", "APP": "m:a", "JSON": "1", "QUIET": "true", "VERBOSE": "1"}
    for name, value in {**values, "COLOR": "never", "TIMEOUT": "7", "YES": "1"}.items():
        monkeypatch.setenv(f"NORIA_{name}", value)
    assert main.run(["probe"]) == 0
    assert seen == [Flags("sqlite:///e", "m:a", True, True, True, "never", 7.0, True)]


@pytest.mark.parametrize("words", [["--url", "sqlite:///a", "probe"], ["probe", "--url", "sqlite:///a"]])
def test_the_command_line_wins(seen: list[Flags], words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORIA_URL", "sqlite:///e")
    assert main.run(words) == 0
    assert seen[0].url == "sqlite:///a"


def test_defaults(seen: list[Flags]) -> None:
    assert main.run(["probe"]) == 0
    assert seen == [Flags()]


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    context = click.Context(main.program)
    for name in main.COMMANDS:
        command = main.program.get_command(context, name)
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", each) for sub, each in command.commands.items()]
    return found


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_flag_shows_its_environment_variable(name: str, command: click.Command) -> None:
    parent = click.Context(main.program, info_name="noria", auto_envvar_prefix="NORIA")
    context = click.Context(command, info_name=name.replace(" ", "_"), parent=parent)
    for param in command.params:
        if isinstance(param, click.Option):
            record = param.get_help_record(context)
            assert record is not None, param.name
            assert "NORIA_" in record[1].replace("\n", ""), f"{name} {param.name}"


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_has_every_common_flag_and_help(name: str, command: click.Command) -> None:
    common = {param.name for param in command.params if isinstance(param, CommonFlag)}
    assert common == {flag.name for flag in common_flags()} == set(Flags.__dataclass_fields__)
    assert command.help
    assert command.get_short_help_str(100)


def test_options_of_a_command_come_from_the_environment_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NORIA_JOBS_LIST_LIMIT", "zero")
    assert main.run(["jobs", "list"]) == 2
    assert "zero" in capsys.readouterr().err


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--json", "version"]) == 0
    captured = capsys.readouterr()
    assert {"noria", "python", "sqlite", "platform"} <= json.loads(captured.out).keys()
    assert captured.out.count("\n") == 1
    assert captured.err == ""


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import noria", ("click", "rich", "uvloop")),
        ("from noria.cli import main; main.run(['version'])", ("rich", "uvloop", "noria.cli.jobs")),
    ],
)
def test_nothing_is_imported_before_it_is_wanted(code: str, unwanted: tuple[str, ...]) -> None:
    check = f"import sys; {code}; found = {{*sys.modules}} & {{*{unwanted!r}}}; sys.exit(str(found) if found else 0)"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"noria {metadata.version('noria')}\n"


def test_an_environment_variable_does_not_ask_for_the_version(
    seen: list[Flags], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_VERSION", "1")
    assert main.run(["probe"]) == 0
    assert len(seen) == 1


def test_the_package_runs_as_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "noria", "--version"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"noria {metadata.version('noria')}\n", "")
    refused = subprocess.run(
        [sys.executable, "-m", "noria", "nothing"], capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith("Usage: noria ")
