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

CLAIMS = Path(__file__).with_name("calls.py")
IGNORE = re.compile(r" *# type: ignore.*")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The claims without a single ignore."""
    path = tmp_path / "calls.py"
    path.write_text("".join(IGNORE.sub("", line) for line in CLAIMS.read_text().splitlines(keepends=True)))
    return path


def refused_lines() -> list[int]:
    lines = CLAIMS.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if IGNORE.search(line)]


def run(*command: str) -> str:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=120
    ).stdout


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_mypy_refuses_what_is_claimed_and_nothing_else(bare: Path) -> None:
    cache = bare.with_name("cache")
    output = run(sys.executable, "-m", "mypy", "--no-pretty", f"--cache-dir={cache}", str(bare))
    found = {int(number) for number in re.findall(r"calls\.py:(\d+): error", output)}
    assert sorted(found) == refused_lines(), output


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_pyright_refuses_what_is_claimed_and_nothing_else(bare: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    settings = {"include": ["calls.py"], "typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")]}
    bare.with_name("pyrightconfig.json").write_text(json.dumps(settings))
    output = run(sys.executable, "-m", "pyright", "--outputjson", "--project", str(bare.parent))
    diagnostics = json.loads(output)["generalDiagnostics"]
    found = {each["range"]["start"]["line"] + 1 for each in diagnostics if each["severity"] == "error"}
    assert sorted(found) == refused_lines(), output
