"""A test that is left out fails the run where CI is set, and says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source import ROOT

SKIPS = {
    "a call": "def test_it():\n    pytest.skip('there is no node here')",
    "a mark": "@pytest.mark.skipif(True, reason='there is no node here')\ndef test_it(): ...",
    "a fixture": "@pytest.fixture\ndef node():\n    pytest.skip('there is no node here')\ndef test_it(node): ...",
    "a missing module": "pytest.importorskip('no_such_module', reason='there is no node here')\ndef test_it(): ...",
}
ALLOWED = {
    "a capability": "def test_it():\n    raise Undeclared('it does not claim to be ordered')",
    "a known fault": "@pytest.mark.xfail(strict=True)\ndef test_it():\n    assert False",
}


def run(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = folder / "test_it.py"
    path.write_text(f"import pytest\nfrom tests.support.left_out import Undeclared\n{text}\n")
    command = [
        sys.executable, "-m", "pytest", "-q", "-rs", "-c", os.devnull, "--rootdir", str(folder),
        "-p", "no:cacheprovider", "-p", "tests.support.left_out", str(path),
    ]  # fmt: skip
    clean = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        timeout=50,
    )


@pytest.mark.parametrize("way", SKIPS)
def test_what_could_not_be_tried_fails_where_ci_is_set_and_says_why(tmp_path: Path, way: str) -> None:
    done = run(tmp_path, SKIPS[way], CI="true")
    assert done.returncode != 0, done.stdout
    assert "CI is set, so nothing may be left out" in done.stdout
    assert "there is no node here" in done.stdout


@pytest.mark.parametrize("way", ALLOWED)
def test_what_a_backend_does_not_claim_may_be_left_out(tmp_path: Path, way: str) -> None:
    done = run(tmp_path, ALLOWED[way], CI="true")
    assert done.returncode == 0, done.stdout


def test_elsewhere_a_skip_is_a_skip(tmp_path: Path) -> None:
    done = run(tmp_path, SKIPS["a call"])
    assert "1 skipped" in done.stdout
