"""With CI set, a test that is left out has failed: a green run must not hide that something could not be tried.

Only what a backend does not claim to do may be left out there, by `Undeclared`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


class Undeclared(pytest.skip.Exception):
    """The backend does not declare a capability that the test needs."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    declared = call.excinfo is not None and isinstance(call.excinfo.value, Undeclared)
    return report if declared else _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _judged((yield))


def _judged(report: Report) -> Report:
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"CI is set, so nothing may be left out: {reason}"
    return report
