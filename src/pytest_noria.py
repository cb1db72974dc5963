"""A pytest plugin: fixtures for tests of applications.

pytest imports this module in every run where Noria is installed, so it imports nothing of Noria before a test asks
for a fixture.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from noria.testing import Trial


@pytest.fixture
def noria_run() -> Callable[..., AbstractAsyncContextManager[Trial]]:
    """`async with noria_run(app) as t:` runs an application in virtual time; see `noria.testing.run`."""
    from noria.testing import run

    return run


@pytest.fixture
def noria_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty store on disk, for this test alone, in real time.

    `NORIA_URL` says the same meanwhile, and `NORIA_RUNTIME_DIR` names a folder beside it. Both are gone afterwards.
    """
    # Not in tmp_path: the path of a Unix socket may have about 100 bytes, and that takes most of them.
    folder = Path(tempfile.mkdtemp(prefix="noria-"))
    url = f"sqlite:///{folder}/store.db"
    monkeypatch.setenv("NORIA_URL", url)
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(folder / "run"))
    yield url
    shutil.rmtree(folder, ignore_errors=True)
