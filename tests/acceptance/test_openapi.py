"""Whatever the document of the front allows is asked of the front; what it answers is what the document says."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.commands import Commands
from tests.support.serving import APP, serve

pytestmark = [pytest.mark.kill, pytest.mark.slow]

KEY = "the-key-of-the-document"
HEADERS = {"Authorization": f"Bearer {KEY}"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The document of a front that runs, with a worker beside it."""
    runtime = Path(tempfile.mkdtemp(prefix="n-", dir="/tmp"))
    there = Commands(tmp_path_factory.mktemp("front"), runtime)
    there.write("app.py", APP)
    try:
        worker = there.start("worker", "app.py")
        worker.says("slots:", error=True)
        front = serve(there, "app.py", NORIA_API_KEY=KEY)
        front.ask("POST", "/v1/call/cube", {"a": 3}, **HEADERS)
        yield schemathesis.openapi.from_url(f"http://127.0.0.1:{front.port}/openapi.json", headers=HEADERS)
        front.process.kill()
        assert "Traceback" not in "\n".join(front.process.err)
    finally:
        there.close()
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.mark.timeout(300)
def test_the_front_answers_as_its_document_says(api: Any) -> None:
    wrong: list[str] = []
    answered: Counter[int] = Counter()
    count = 0
    for found in api.get_all_operations():
        operation = found.ok()
        count += 1
        try:
            ask(operation, answered)
        except BaseException as error:  # of whatever kind: the others are asked all the same
            wrong.append(f"{operation.label}: {error}")

    assert not wrong, "\n\n".join(wrong)
    assert count > 40
    assert 401 not in answered and {200, 202, 404, 422} <= answered.keys()
    assert sum(times for status, times in answered.items() if status < 300) > 100, answered


def ask(operation: Any, answered: Counter[int]) -> None:
    """Ask what the document allows of one operation, the same in every run."""

    @given(case=operation.as_strategy())
    @settings(
        max_examples=20,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def each(case: Any) -> None:
        case.headers.update({"Prefer": "wait=0", **HEADERS})
        if "wait" in case.query:
            case.query["wait"] = 0
        answer = case.call(timeout=10)
        answered[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    each()
