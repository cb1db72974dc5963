"""Which target a command works on, and what it may do there: contexts, --read-only, and the question for production."""

from __future__ import annotations

import pwd
from pathlib import Path

import click
import pytest

from noria.cli import contexts, main
from noria.cli.command import Command
from noria.cli.flags import Flags, flags_of
from noria.errors import ConfigError
from tests.unit.test_cli_flags import commands

READS = {
    "jobs list": "", "jobs show": "x", "jobs explain": "x", "dead list": "", "bulk": "retry dead --preview",
    "queues list": "", "workers list": "", "workers show": "x", "stats": "", "keys list": "", "openapi": "",
    "schema": "x", "questions list": "", "questions show": "x",
    "groups list": "", "groups resources": "", "schedules list": "", "schedules show": "x",
    "schedules next": "x",
    "doctor": "", "db status": "", "db migrate": "--sql",
}  # fmt: skip
WRITES = {
    "up": "app.py", "worker": "app.py", "serve": "app.py", "enqueue": "x", "call": "x", "jobs retry": "x",
    "jobs cancel": "x", "jobs discard": "x", "jobs copy": "x", "jobs move": "x --to y", "dead retry": "--all",
    "dead discard": "--all",
    "bulk": "retry dead", "queues pause": "x", "queues resume": "x",
    "queues limit": "x --max-length 5", "workers quiet": "--all", "workers stop": "--all",
    "questions answer": "x y", "groups close": "x y", "groups open": "x y",
    "schedules pause": "x", "schedules resume": "x", "schedules run": "x",
    "schedules delete": "x",
    "schedules backfill": "x --since 2026-01-01T00:00:00Z --until 2026-01-02T00:00:00Z",
    "workers resume": "--all", "keys create": "x --scope admin", "keys revoke": "x", "db migrate": "", "bench": "",
}  # fmt: skip
NOTHING = ["completion", "version"]
"""Written down a second time, on purpose: a new command does nothing before somebody has thought about it here."""

TWO = """
default = "near"
[contexts.near]
url = "sqlite:///near.db"
[contexts.live]
url = "postgresql://me:secret-word@db.example.org/shop?sslpassword=hidden"
production = true
"""
ONE = '[contexts.near]\nurl = "sqlite:///near.db"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two contexts, in a folder without anything else."""
    for name in ("NORIA_URL", "NORIA_APP", "NORIA_CONTEXT", "NORIA_READ_ONLY", "NORIA_YES", "NORIA_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "contexts.toml"
    path.write_text(TWO)
    path.chmod(0o600)
    monkeypatch.setenv("NORIA_CONTEXTS", str(path))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Flags]:
    """What the flags of the commands `look` and `change` were."""
    found: list[Flags] = []

    @click.pass_context
    def note(ctx: click.Context, **given: object) -> None:
        found.append(flags_of(ctx))

    named = [click.Argument(["named"], required=False)]
    probes = {
        "look": Command("look", use="reads", callback=note, params=[*named]),
        "change": Command("change", use="writes", callback=note, params=[*named]),
        "rest": Command("rest", use="nothing", callback=note),
    }
    monkeypatch.setattr(main.Program, "get_command", lambda self, ctx, name: probes.get(name))
    return found


# ---- what commands do


def test_every_command_says_what_it_does_to_its_target() -> None:
    leaves = {name for name, each in commands() if not isinstance(each, click.Group)}

    assert leaves == READS.keys() | WRITES.keys() | set(NOTHING)


@pytest.mark.parametrize("name", WRITES)
def test_a_writing_command_refuses_to_write_when_it_must_not(
    file: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*name.split(), *WRITES[name].split(), "--read-only"]) == 5
    assert f"noria {name} writes, and --read-only forbids that" in capsys.readouterr().err
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("name", [*READS, *NOTHING])
def test_a_reading_command_is_not_refused(
    file: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_READ_ONLY", "1")

    assert main.run([*name.split(), *READS.get(name, "").split()]) != 5
    assert "--read-only" not in capsys.readouterr().err


# ---- which context


@pytest.mark.parametrize(
    ("words", "environment", "url"),
    [
        ("look", {}, "sqlite:///near.db"),
        ("look --context near", {"NORIA_CONTEXT": "live"}, "sqlite:///near.db"),
        ("look --context near", {"NORIA_URL": "sqlite:///e"}, "sqlite:///near.db"),
        ("--context near look", {}, "sqlite:///near.db"),
        ("look", {"NORIA_CONTEXT": "near"}, "sqlite:///near.db"),
        ("look", {"NORIA_URL": "sqlite:///e"}, "sqlite:///e"),
        ("look --url sqlite:///u", {"NORIA_CONTEXT": "live"}, "sqlite:///u"),
        ("change --url sqlite:///u", {"NORIA_CONTEXT": "live"}, "sqlite:///u"),
        ("change --context near", {}, "sqlite:///near.db"),
        ("look app.py", {}, None),
        ("look --app app.py", {}, None),
        ("look app.py --context near", {}, "sqlite:///near.db"),
        ("rest", {"NORIA_CONTEXT": "nobody"}, None),
    ],
)
def test_what_is_closest_says_the_target(
    file: Path, seen: list[Flags], monkeypatch: pytest.MonkeyPatch, words: str, environment: dict[str, str], url: str
) -> None:  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert main.run(words.split()) == 0
    assert seen[0].url == url


@pytest.mark.parametrize(
    ("words", "environment", "why"),
    [
        ("look --url sqlite:///u --context near", {}, "both a URL and a context"),
        ("look", {"NORIA_URL": "sqlite:///e", "NORIA_CONTEXT": "near"}, "both a URL and a context"),
        ("look --context nobody", {}, "there is: live, near"),
        ("change", {}, "context near was not named for it: say --context near, or another"),
        ("change", {"NORIA_CONTEXT": "live", "NORIA_YES": "1"}, "context live was not named for it"),
        ("change --context live", {}, "is production, and nobody can be asked: say --yes"),
    ],
)
def test_what_is_doubtful_is_refused(
    file: Path, seen: list[Flags], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: str, environment: dict[str, str], why: str,
) -> None:  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert main.run(words.split()) == 2
    assert why in capsys.readouterr().err
    assert seen == []


def test_the_only_context_may_be_written_to_by_default(file: Path, seen: list[Flags]) -> None:
    file.write_text('default = "near"\n' + ONE)

    assert main.run(["change"]) == 0
    assert seen[0].url == "sqlite:///near.db"


def test_without_a_default_nothing_is_taken_by_itself(file: Path, seen: list[Flags]) -> None:
    file.write_text(ONE)

    assert main.run(["look"]) == 0
    assert seen[0].url is None


def test_a_context_brings_its_key_unless_the_command_names_another(
    file: Path, seen: list[Flags], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[contexts.far]\nurl = "https://jobs.example.org"\nkey_file = "far.key"\n')
    monkeypatch.setenv("NORIA_KEY_FILE", "elsewhere.key")

    assert main.run(["look", "--context", "far"]) == 0
    assert main.run(["look", "--context", "far", "--key-file", "mine.key"]) == 0
    assert [each.key_file for each in seen] == [str(file.parent / "far.key"), "mine.key"]


def test_the_target_is_told_without_its_password(
    file: Path, seen: list[Flags], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["change", "--context", "live", "--yes"]) == 0
    told = capsys.readouterr()
    assert told.err == "context live (postgresql://db.example.org/shop), production\n"
    assert main.run(["look", "--context", "near"]) == 0
    assert capsys.readouterr().err == "context near (sqlite:///near.db)\n"
    assert main.run(["look", "--context", "near", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert seen[0].url is not None and "secret-word" in seen[0].url


def test_a_process_of_a_supervisor_neither_asks_nor_tells_again(
    file: Path, seen: list[Flags], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_TETHER", "7:1")

    assert main.run(["change", "--context", "live"]) == 0
    assert capsys.readouterr().err == ""
    assert len(seen) == 1


# ---- the file


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[contexts.a]\nurl = secret-word\n", "line 2"),
        ('[contexts.a]\nulr = "secret-word"\n', "contexts.a.ulr is not known; known are url, key_file, production"),
        ("[contexts.a]\n", "contexts.a.url is missing"),
        ('[contexts.a]\nurl = ""\n', "contexts.a.url is missing"),
        ('[contexts.a]\nurl = ["secret-word"]\n', "contexts.a.url must be a text"),
        ('[contexts.a]\nurl = "redis://:secret-word@h"\nproduction = "yes"\n', "production must be true or false"),
        ('contexts = "secret-word"\n', "contexts must be a table"),
        ('[contexts]\na = "secret-word"\n', r"contexts.a must be a table: [contexts.a]"),
        ("default = 3\n", "default must be a text"),
        ('default = "b"\n[contexts.a]\nurl = "x"\n', "default: there is no context 'b'"),
        ('defualt = "secret-word"\n', "defualt is not known; known are default, contexts"),
    ],
)  # fmt: skip
def test_a_faulty_file_is_refused_by_line_or_key_and_without_values(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        contexts.parse(Path("/srv/me/contexts.toml"), text)

    assert str(caught.value).startswith("/srv/me/contexts.toml")
    assert why in str(caught.value)
    assert "secret-word" not in str(caught.value)


def test_a_file_with_a_password_is_for_its_user_alone(file: Path, seen: list[Flags]) -> None:
    file.chmod(0o640)
    assert main.run(["look"]) == 2
    file.write_text(ONE)
    assert main.run(["look"]) == 0


def test_a_file_that_was_named_must_be_there(
    file: Path, seen: list[Flags], capsys: pytest.CaptureFixture[str]
) -> None:
    file.unlink()

    assert main.run(["look"]) == 2
    assert f"the contexts in {file} cannot be read" in capsys.readouterr().err


def test_a_user_without_a_home_has_no_contexts(
    file: Path, seen: list[Flags], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("NORIA_CONTEXTS", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.delenv(name)

    assert main.run(["look"]) == 0


def test_who_names_an_application_needs_no_file(file: Path, seen: list[Flags]) -> None:
    file.write_text("nonsense")

    assert main.run(["change", "app.py"]) == 0
    assert main.run(["look"]) == 2


def test_the_file_is_looked_for_among_the_users_settings(
    file: Path, seen: list[Flags], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NORIA_CONTEXTS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(file.parent / "config"))
    assert main.run(["look"]) == 0

    (file.parent / "config" / "noria").mkdir(parents=True)
    file.rename(file.parent / "config" / "noria" / "contexts.toml")
    assert main.run(["look"]) == 0
    assert [each.url for each in seen] == [None, "sqlite:///near.db"]
    monkeypatch.setenv("HOME", "/srv/me")
    monkeypatch.setenv("XDG_CONFIG_HOME", "not/absolute")
    assert contexts.place() == Path("/srv/me/.config/noria/contexts.toml")
