"""The service files of the documentation can be read by what they are for, and say what the program understands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from noria.cli.main import program
from noria.cli.quantities import read_seconds
from noria.front.listener import is_loopback
from noria.front.routes import ROUTES
from tests.docs.pages import read_blocks
from tests.support.source import ROOT

DEPLOY = ROOT / "docs" / "howto" / "deploy.md"
SPARE = 10.0
"""Seconds beyond the grace that a process may take to end, at most."""


def blocks(language: str) -> list[str]:
    """The blocks of this language in the page."""
    return [each.text for each in read_blocks(DEPLOY) if each.language == language]


def block(language: str) -> str:
    """The one block of this language in the page."""
    [found] = blocks(language)
    return found


def unit_of(command: str) -> str:
    """The unit that starts this command."""
    [found] = [each for each in blocks("ini") if f"noria {command} " in each]
    return found


def options_of(words: Sequence[str]) -> dict[str, Any]:
    """What the program understands of a command line; it must understand all of it."""
    name, *rest = words
    assert Path(name).name == "noria"
    context: click.Context = click.Context(program)
    command: click.Command | None = program
    while isinstance(command, click.Group):
        word, *rest = rest
        command = command.get_command(context, word)
        assert command is not None, f"there is no command {word}"
    return command.make_context(command.name, list(rest), parent=context).params


def setting(unit: str, name: str) -> str:
    """The one value of a setting in a unit file."""
    [found] = re.findall(rf"(?m)^{name}=(.*)$", unit)
    return str(found)


def test_the_unit_starts_what_there_is_and_gives_it_time_to_drain() -> None:
    unit = unit_of("worker")
    options = options_of(shlex.split(setting(unit, "ExecStart")))
    assert options["processes"] == 4
    assert float(setting(unit, "TimeoutStopSec")) >= options["drain"] + SPARE
    assert setting(unit, "RuntimeDirectory") in unit.partition("NORIA_RUNTIME_DIR=/run/")[2]


def test_the_unit_of_a_front_gives_it_time_to_end_and_keeps_the_key_out_of_itself() -> None:
    unit, beside = unit_of("serve"), unit_of("worker")
    options = options_of(shlex.split(setting(unit, "ExecStart")))
    assert is_loopback(options["host"])
    assert float(setting(unit, "TimeoutStopSec")) >= SPARE
    assert "NORIA_API_KEY" not in unit
    for name in (
        "Environment",
        "User",
        "RuntimeDirectory",
        "RuntimeDirectoryMode",
        "RuntimeDirectoryPreserve",
    ):
        same = [re.findall(rf"(?m)^{name}=(.*)$", each) for each in (unit, beside)]
        assert same[0] == same[1], "or they do not meet"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("command", ["worker", "serve"])
def test_systemd_understands_the_unit(tmp_path: Path, command: str) -> None:
    program = Path(sys.executable).with_name("noria")
    unit = unit_of(command).replace("/srv/shop/.venv/bin/noria", str(program))
    path = tmp_path / "shop-noria.service"
    path.write_text(unit.replace("User=shop", "User=root"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    own = [line for line in done.stderr.splitlines() if "shop-noria" in line]
    assert (done.returncode, own) == (0, [])


def test_the_container_starts_the_program_itself_and_not_a_shell() -> None:
    text = block("dockerfile")
    [command] = re.findall(r"(?m)^CMD (.*)$", text)
    assert options_of(json.loads(command))["log_format"] == "json"
    assert "STOPSIGNAL SIGTERM" in text


def test_the_manifest_is_yaml_with_probes_and_time_to_drain() -> None:
    yaml = pytest.importorskip("yaml")
    [manifest] = yaml.safe_load_all(blocks("yaml")[0])
    pod = manifest["spec"]["template"]["spec"]
    worker = next(each for each in pod["containers"] if each["name"] == "worker")
    drain = options_of(worker["command"])["drain"]
    assert pod["terminationGracePeriodSeconds"] >= drain + SPARE
    for probe in ("startupProbe", "readinessProbe"):
        words = worker[probe]["exec"]["command"]
        options_of(words)
        asked = read_seconds(words[words.index("--timeout") + 1])
        assert worker[probe]["timeoutSeconds"] > asked, "the program says more than the time-out of a probe"
    claims = {claim["metadata"]["name"] for claim in manifest["spec"]["volumeClaimTemplates"]}
    assert {mount["name"] for mount in worker["volumeMounts"]} <= claims


def test_the_front_in_the_manifest_is_asked_where_it_answers_without_a_key() -> None:
    yaml = pytest.importorskip("yaml")
    [manifest] = yaml.safe_load_all(blocks("yaml")[0])
    containers = {each["name"]: each for each in manifest["spec"]["template"]["spec"]["containers"]}
    front, worker = containers["front"], containers["worker"]
    options = options_of(front["command"])
    [port] = front["ports"]
    assert (options["port"], options["host"]) == (port["containerPort"], "0.0.0.0")
    asked = {name: front[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {each["port"] for each in asked.values()} == {port["name"]}
    assert [asked[name]["path"] for name in ("startup", "liveness", "readiness")] == [
        "/readyz",
        "/livez",
        "/readyz",
    ]
    open_to_all = {route.path for route in ROUTES if route.scope is None}
    assert {each["path"] for each in asked.values()} <= open_to_all
    assert [each for each in front["env"] if "value" in each] == worker["env"], "or they do not meet"
    assert front["volumeMounts"] == worker["volumeMounts"]


def test_with_a_server_workers_and_fronts_are_apart_and_share_no_folder() -> None:
    yaml = pytest.importorskip("yaml")
    workers, fronts = yaml.safe_load_all(blocks("yaml")[1])
    drain = 0.0
    for manifest, command in ((workers, "worker"), (fronts, "serve")):
        assert manifest["spec"]["replicas"] > 1
        assert (
            manifest["spec"]["selector"]["matchLabels"] == manifest["spec"]["template"]["metadata"]["labels"]
        )
        pod = manifest["spec"]["template"]["spec"]
        [container] = pod["containers"]
        options = options_of(container["command"])
        assert container["command"][1] == command
        drain = max(drain, options.get("drain", 0.0))
        assert "volumes" not in pod
        env = {each["name"]: each for each in container["env"]}
        assert "secretKeyRef" in env["NORIA_URL"]["valueFrom"], "it holds a password"
    assert workers["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= drain + SPARE > SPARE
