"""The claims of this folder, turned around: without their `type: ignore`, exactly those lines are refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source import ROOT

CLAIMS = ("calls.py", "depends.py")
IGNORE = re.compile(r" *# type: ignore.*")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with the claims without a single ignore."""
    for name in CLAIMS:
        lines = text(name).splitlines(keepends=True)
        (tmp_path / name).write_text("".join(IGNORE.sub("", line) for line in lines))
    return tmp_path


def text(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


def refused_lines() -> set[tuple[str, int]]:
    return {
        (name, number)
        for name in CLAIMS
        for number, line in enumerate(text(name).splitlines(), 1)
        if IGNORE.search(line)
    }


def run(*command: str) -> str:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=120
    ).stdout


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_mypy_refuses_what_is_claimed_and_nothing_else(bare: Path) -> None:
    files = [str(bare / name) for name in CLAIMS]
    output = run(sys.executable, "-m", "mypy", "--no-pretty", f"--cache-dir={bare / 'cache'}", *files)
    found = {(name, int(number)) for name, number in re.findall(r"(\w+\.py):(\d+): error", output)}
    assert found == refused_lines(), output


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_pyright_refuses_what_is_claimed_and_nothing_else(bare: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    settings = {"include": list(CLAIMS), "typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")]}
    (bare / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ("-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(bare))
    output = run(sys.executable, *command)
    found = {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1)
        for each in json.loads(output)["generalDiagnostics"]
        if each["severity"] == "error"
    }
    assert found == refused_lines(), output
