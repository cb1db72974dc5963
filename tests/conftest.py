"""What every test may use, and how a run is made repeatable."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Their being here is what makes them hooks.
from tests.support.left_out import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]

STORM = os.environ.get("NORIA_STORM") == "1"

SEED = 7
"""The seed of a run that is given none, unless it is a storm: one commit makes the same choices each time, so that a
red run is about the change in hand. A storm is where new ones are looked for."""

# No deadline per example: a busy machine is not a bug.
settings.register_profile("usual", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("storm", deadline=None, print_blob=True, max_examples=5_000)
settings.load_profile("storm" if STORM else "usual")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed",
        type=int,
        default=None,
        help=f"what tests draw from; {SEED} if left out, in a storm a random one; the header shows it",
    )
    parser.addoption(
        "--contract-of",
        default=None,
        metavar="BACKEND",
        help="run the contract suite for this backend alone, such as sqlite",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Chosen before xdist starts its workers, which are handed the options as they are now.
    if config.option.seed is None:
        config.option.seed = secrets.randbelow(2**32) if STORM else SEED


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.option.seed} (repeat with --seed={config.option.seed}){', storm' if STORM else ''}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Tests of real processes and signals share one xdist worker: they must not disturb each other's timing.
    for item in items:
        if item.get_closest_marker("kill"):
            item.add_marker(pytest.mark.xdist_group("kill"))


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own NORIA_URL must not reach a test, and neither may their contexts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", os.devnull)
    for name in [name for name in os.environ if name.startswith("NORIA_") and name != "NORIA_STORM"]:
        monkeypatch.delenv(name)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run."""
    return int(request.config.option.seed)


@pytest.fixture
def rng(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """A generator of this test's own, the same for the same seed whatever else runs."""
    return random.Random(f"{seed} {request.node.nodeid}")


@pytest.fixture(scope="session")
def storm() -> bool:
    """Whether a storm test should use its long parameters."""
    return STORM


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """An empty folder with a short path: a Unix socket's may have about 100 bytes, and tmp_path eats most."""
    path = Path(tempfile.mkdtemp(prefix="n-", dir="/tmp" if os.path.isdir("/tmp") else None))
    yield path
    shutil.rmtree(path, ignore_errors=True)
