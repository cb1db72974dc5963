"""The front door is an extra: who has not installed it is told so, and the rest of Noria never asks for it."""

from __future__ import annotations

import subprocess
import sys

import pytest


def said(code: str) -> str:
    """What a program prints, in a process of its own: what is imported here stays as it is."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return run.stdout.strip() or run.stderr


WITHOUT = """
import sys
sys.modules[{missing!r}] = None  # as if it were not installed
from noria import Noria
from noria.errors import ConfigError
try:
    {call}
except ConfigError as error:
    print(error)
"""
MOUNT = "from noria.front import asgi; asgi(Noria('sqlite:///x.db'))"
SERVE = (
    "from noria.cli.serve import make_server; "
    "make_server(Noria('sqlite:///x.db'), host='127.0.0.1', port=0, key=None)"
)


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (MOUNT, "starlette"),
        (MOUNT, "jsonschema_rs"),
        (SERVE, "uvicorn"),
        (SERVE, "httptools"),
        (SERVE, "starlette"),
    ],
)
def test_who_has_not_installed_the_extra_is_told_how_to_get_it(call: str, missing: str) -> None:
    told = said(WITHOUT.format(missing=missing, call=call))

    assert "pip install noria[serve]" in told and "Traceback" not in told
    assert missing in told


def test_nothing_else_imports_the_extra() -> None:
    assert said(
        "import sys, noria, noria.testing, noria.cli.main, noria.cli.worker, noria.cli.jobs, noria.front.resources\n"
        "print(sorted({'starlette', 'uvicorn', 'httptools', 'jsonschema_rs', 'anyio'} & set(sys.modules)))"
    ) == "[]"  # fmt: skip
