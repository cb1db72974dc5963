"""What of the environment a process with handlers gets: all but what is for fronts and people alone (decision 0027)."""

from __future__ import annotations

import os
import re

import pytest

from noria.app import config
from noria.cli.environment import WITHHELD, passed
from noria.cli.supervise import workers
from tests.docs.test_reference import page, section

SECRET = {"NORIA_API_KEY", "NORIA_KEY_FILE"}
HARMLESS = {
    "NORIA_URL": "handlers enqueue, and look for their jobs",
    "NORIA_APP": "a name",
    "NORIA_RUNTIME_DIR": "all processes of a store meet there",
    "NORIA_CONTEXT": "a name, by which a supervised worker finds its store",
    "NORIA_CONTEXTS": "the path of a file, by which it does so too",
    "NORIA_PUBLIC_URL": "an address that everybody may know",
    "NORIA_READ_ONLY": "a worker that has begun was not refused",
    **dict.fromkeys(
        ("NORIA_JSON", "NORIA_QUIET", "NORIA_VERBOSE", "NORIA_COLOR", "NORIA_TIMEOUT", "NORIA_YES"), "a flag"
    ),
}
"""Why a worker may have it. A new variable is not passed on before somebody has thought about it here."""


def test_every_variable_is_either_withheld_or_harmless() -> None:
    known = set(re.findall(r"`(NORIA_[A-Z_]+)`", section(page("settings.md"), "Environment")))

    assert known - {"NORIA_WORKER_CONCURRENCY"} == SECRET | HARMLESS.keys()
    assert WITHHELD == SECRET


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that has everything."""
    for name in (*SECRET, *HARMLESS, "SHOP_KEY", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_OF_THEIRS"):
        monkeypatch.setenv(name, "there")


def test_a_supervised_worker_gets_all_but_that(full: None) -> None:
    [program] = workers(1, {})

    assert os.environ.keys() - program.environment.keys() == SECRET
    assert passed().items() <= program.environment.items()


def test_a_worker_by_itself_hides_the_same_from_its_handlers(full: None) -> None:
    before = set(os.environ)

    assert config.take_api_key() == "there"
    assert before - set(os.environ) == SECRET
