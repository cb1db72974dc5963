"""The reference is complete and true: whatever a user can name stands in it, with the defaults that hold."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import noria
import noria.testing
from noria.app.dead import DeadLetters
from noria.app.options import JobOptions, TaskOptions, WorkerOptions
from noria.app.schedules import Schedules
from noria.app.sync import Sync
from noria.app.timers import TimerOptions
from noria.cli.exits import MEANINGS
from noria.cli.flags import CommonFlag, common_flags
from noria.cli.main import program
from noria.model import limits
from noria.model.outcome import Outcome, Reason
from noria.model.reason import CODES
from noria.model.state import State
from tests.support.source import PACKAGE, ROOT

REFERENCE = ROOT / "docs" / "reference"
SEAMS = {"runner_class"}
"""For the simulation only, which puts a broken part in its place."""
UNITS = {"s": 1, "h": 3600, "d": 86_400, "KiB": 1024, "MiB": 1024 * 1024, "levels": 1, "": 1}


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its depth or above."""
    [found] = re.findall(rf"(?m)^(#+) {re.escape(heading)}$", text)
    _, _, rest = text.partition(f"\n{found} {heading}\n")
    return re.split(rf"(?m)^#{{1,{len(found)}}} ", rest)[0]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every row of every table, heads left out."""
    for line in re.findall(r"(?m)^\|(.+)\|$", re.sub(r"(?m)^\|.+\|\n\|[-:|]+\|$", "", text)):
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]


def first_cells(text: str) -> set[str]:
    """The names in code style at the head of each row."""
    return {name for row in rows(text) for name in re.findall(r"`([\w.]+)", row[0])}


def public(kind: type) -> set[str]:
    """What a class offers its users: methods, properties and fields without an underscore."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    names |= {name for name in getattr(kind, "__annotations__", {}) if not name.startswith("_")}
    return names - set(dir(Exception)) - set(dir(msgspec.Struct))


# ---- Python


def test_public_names_are_the_documented_names() -> None:
    table = page("api.md").partition("## Noria")[0]

    assert first_cells(table) == set(noria.__all__)


def test_public_names_of_testing_are_the_documented_names() -> None:
    assert first_cells(page("testing.md").partition("## run")[0]) == set(noria.testing.__all__)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (noria.Noria, "api.md"),
        (Sync, "api.md"),
        (noria.Worker, "api.md"),
        (noria.Exit, "api.md"),
        (noria.WorkerSettings, "settings.md"),
        (noria.Task, "tasks.md"),
        (noria.Enqueuer, "tasks.md"),
        (noria.Backoff, "tasks.md"),
        (noria.Depends, "tasks.md"),
        (noria.Router, "tasks.md"),
        (noria.Outgoing, "tasks.md"),
        (noria.Context, "tasks.md"),
        (noria.Job, "jobs.md"),
        (noria.Draft, "jobs.md"),
        (noria.JobStatus, "jobs.md"),
        (noria.StartStatus, "jobs.md"),
        (noria.JobFault, "jobs.md"),
        (noria.Retried, "jobs.md"),
        (DeadLetters, "jobs.md"),
        (noria.Reason, "jobs.md"),
        (noria.testing.Trial, "testing.md"),
        (noria.testing.Enqueued, "testing.md"),
        (noria.DeadPage, "jobs.md"),
        (noria.Dealt, "jobs.md"),
        (Schedules, "timers.md"),
        (noria.ScheduleStatus, "timers.md"),
        (noria.SlotLog, "timers.md"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_every_public_member_is_documented(kind: type, name: str) -> None:
    code = re.findall(r"`([^`]+)`", page(name))
    documented = {word for text in code for word in re.findall(r"\w+", text)}

    assert public(kind) - documented - SEAMS == set()


def test_every_error_is_in_the_tree_with_its_bases() -> None:
    told = {
        row[0].strip("`").partition("(")[0]: re.findall(r"`(\w+)`", row[1]) for row in rows(page("errors.md"))
    }
    kinds = [getattr(noria, name) for name in noria.__all__]
    errors = {
        kind.__name__: [base.__name__ for base in kind.__bases__]
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, Exception)
    }

    assert told == errors


# ---- options and settings


def test_every_option_of_tasks_and_jobs_is_documented() -> None:
    text = page("tasks.md")

    assert first_cells(section(text, "Task options")) == set(TaskOptions.__annotations__)
    assert first_cells(section(text, "Job options")) == set(JobOptions.__annotations__)


def test_every_option_of_timers_is_documented() -> None:
    text = page("timers.md")

    assert first_cells(section(text, "Options")) == set(TimerOptions.__annotations__)


def test_task_defaults_are_as_documented() -> None:
    told = {row[0].strip("`"): row[2].strip("`") for row in rows(section(page("tasks.md"), "Task options"))}
    app = noria.Noria()

    @app.task
    async def anything() -> None: ...

    task = anything.definition
    given = {"queue": task.queue, "priority": task.priority, "attempts": task.attempts}
    assert {name: told[name] for name in given} == {name: str(value) for name, value in given.items()}
    assert told["crashes"] == str(task.crash_budget)
    assert (told["timeout"], task.timeout) == ("none", None)


def test_backoff_fields_and_defaults_are_as_documented() -> None:
    table = section(page("tasks.md"), "Backoff").partition("| Call |")[0]
    told = {row[0].strip("`"): row[1].strip("`") for row in rows(table)}
    backoff = noria.Backoff()

    assert told == {name: _plain(getattr(backoff, name)) for name in backoff.__struct_fields__}


def test_worker_settings_and_defaults_are_as_documented() -> None:
    told = {row[0].strip("`"): row[1] for row in rows(section(page("settings.md"), "Worker settings"))}
    settings = noria.WorkerSettings()
    by_machine = {"queues", "weights", "name", "threads", "process_slots"}

    assert set(told) == set(WorkerOptions.__annotations__) - {"observer"}
    assert {name: value for name, value in told.items() if name not in by_machine} == {
        field.name: _plain(getattr(settings, field.name))
        for field in dataclasses.fields(settings)
        if field.name not in by_machine
    }


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value == () else str(value)


def test_every_limit_is_documented_with_its_value() -> None:
    told = {row[2].strip("`"): row[1] for row in rows(page("limits.md"))}
    known = {name: value for name, value in vars(limits).items() if name.isupper()}

    assert {name: _number(text) for name, text in told.items()} == known


def _number(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * UNITS[unit]


def test_every_environment_variable_is_documented() -> None:
    read = {
        name
        for path in (PACKAGE / "app" / "config.py", *(PACKAGE / "cli").glob("*.py"))
        for name in re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", path.read_text())
    }
    flags = {str(flag.envvar) for flag in common_flags()}
    table = section(page("settings.md"), "Environment")

    assert (read | flags) - {"TERM"} - set(re.findall(r"`([A-Z_]+)`", table)) == set()


# ---- command line


def commands(
    command: click.Command, path: tuple[str, ...] = ("noria",)
) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its whole name."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*path, name))


def test_every_command_has_its_place_and_no_other_has() -> None:
    told = re.findall(r"(?m)^### `(noria [\w ]+)`$", page("cli.md"))

    assert sorted(told) == sorted(name for name, _ in commands(program))


@pytest.mark.parametrize(
    ("name", "command"), list(commands(program)), ids=lambda each: getattr(each, "name", None)
)
def test_every_flag_of_a_command_is_documented(name: str, command: click.Command) -> None:
    text = section(page("cli.md"), f"`{name}`")
    own = [
        each for each in command.params if isinstance(each, click.Option) and not isinstance(each, CommonFlag)
    ]
    flags = {opt for each in own for opt in each.opts if each.name != "help"}

    assert flags - set(re.findall(r"--?[a-z][a-z-]*", text)) == set()


def test_common_flags_and_their_variables_are_documented() -> None:
    text = section(page("cli.md"), "Common flags")

    assert [flag for flag in common_flags() if not all(f"`{opt}`" in text for opt in flag.opts)] == []
    assert [flag for flag in common_flags() if f"`{flag.envvar}`" not in text] == []


def test_exit_codes_are_as_documented() -> None:
    told = {int(code): meaning for code, meaning in rows(section(page("cli.md"), "Exit codes"))}

    assert told == {int(code): meaning for code, meaning in MEANINGS.items()}


def test_every_code_of_a_reason_is_documented() -> None:
    told = dict(rows(section(page("jobs.md"), "Codes of reasons")))

    assert told == {f"`{code}`": meaning for code, meaning in CODES.items()}


# ---- states


def test_every_state_outcome_and_reason_is_documented() -> None:
    text = (ROOT / "docs" / "states.md").read_text()

    assert first_cells(section(text, "What each state means")) == {state.word for state in State}
    assert first_cells(section(text, "How a start ends")) == {outcome.word for outcome in Outcome}
    assert first_cells(section(text, "Reasons")) == set(Reason.__args__)


def test_the_diagram_is_the_one_that_the_table_draws() -> None:
    from noria.model.state import diagram

    drawn = re.findall(r"(?s)```mermaid\n(.*?)\n```", (ROOT / "docs" / "states.md").read_text())

    assert drawn == [diagram()], "run tools/draw-states"


# ---- the readers of pages themselves


def test_sections_and_rows_are_read(tmp_path: Path) -> None:
    text = (
        "# A\n\n## B\n\n| x | y |\n|---|---|\n| `n` | 1 |\n\n### C\n\n| z |\n|---|\n| `m` |\n\n## D\n\nno\n"
    )

    assert list(rows(text)) == [["`n`", "1"], ["`m`"]]
    assert first_cells(section(text, "B")) == {"n", "m"}
    assert section(text, "D") == "\nno\n"
