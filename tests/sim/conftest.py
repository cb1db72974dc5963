"""Simulations are silent: what befalls their workers is in the history, which says it better."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from noria.testing.simulation import burial


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.CRITICAL + 1, logger="noria")
    with burial():
        yield
