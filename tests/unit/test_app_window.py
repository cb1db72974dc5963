"""What `import noria` shows, and what it costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from inspect import ismodule

import pytest

import noria
from noria import errors
from tests.support.source import ROOT


def test_the_public_names_are_there_sorted_and_complete() -> None:
    assert all(hasattr(noria, name) for name in noria.__all__)
    shown = {
        name
        for name, value in vars(noria).items()
        if not name.startswith("_") and not ismodule(value) and name != "annotations"
    }
    assert shown == set(noria.__all__) - {"__version__"}


def test_every_error_can_be_caught_by_its_name() -> None:
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert raised - set(noria.__all__) == set()


def test_the_version_is_the_package_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert noria.__version__ == project["project"]["version"]


@pytest.mark.slow
def test_importing_noria_loads_nothing_that_only_an_open_application_needs() -> None:
    program = "import sys, noria; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(loaded) & {"apsw", "uvloop", "click", "rich", "pydantic", "starlette"} == set()
