"""The suite about itself: what it may leave out, and that every backend and mode is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from noria import Noria
from noria.backends.contract import Capabilities
from noria.backends.sqlite.store import SqliteStore
from noria.testing import play, run
from noria.testing.enqueued import Witness
from noria.testing.mishaps import FatefulBackend
from tests.contract import factories
from tests.contract.conftest import CASES, needs
from tests.contract.factories import FACTORIES, Options
from tests.support.manual import ManualClock

HERE = Path(__file__).parent
FIELDS = {field.name for field in msgspec.structs.fields(Capabilities)}


def ways_out(text: str) -> list[str]:
    """Everything in a test file that could keep a test from running, but for `needs`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if name in {"skip", "skipif", "skipIf", "xfail", "importorskip", "SkipTest", "deselect"}:
            found.append(f"{name} in line {node.lineno}")
    return found


def test_a_test_is_left_out_only_by_a_declared_capability() -> None:
    files = [
        path for path in sorted(HERE.glob("*.py")) if path.name not in {"conftest.py", Path(__file__).name}
    ]

    assert {path.name: ways_out(path.read_text()) for path in files} == {path.name: [] for path in files}


def test_the_check_sees_every_way_out() -> None:
    bad = [
        "pytest.skip('x')",
        "@pytest.mark.skipif(True)\ndef f(): ...",
        "xfail()",
        "@unittest.skip\ndef f(): ...",
    ]

    assert all(ways_out(text) for text in bad)
    assert ways_out("@needs('ordered')\nasync def test_x(store): ...") == []


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_what_a_test_may_need_is_a_capability(field: str) -> None:
    assert needs(field).args == (field,)


def test_nothing_else_can_be_needed() -> None:
    with pytest.raises(ValueError, match="speed"):
        needs("speed")


def test_every_backend_is_run_in_all_its_modes() -> None:
    assert {(factory.name, mode) for factory, mode in CASES} == {
        (name, mode) for name, factory in FACTORIES.items() for mode in factory.modes
    }
    assert all("restarted" in factory.modes for factory in FACTORIES.values() if factory.lasting)


async def test_the_backend_of_tests_is_one_of_them(short_tmp: Path) -> None:
    """The suite goes through what `noria.testing.run` gives to an application, and through what it gives a worker."""
    assert factories.compose is play.compose
    clock, factory = ManualClock(), FACTORIES["testing"]
    backend = factory.open(factory.fresh(short_tmp), "inline", clock, Options())
    app = Noria()
    app.task(name="nothing")(nothing)
    async with run(app) as trial:
        [member] = trial._fleet._alive
        assert [*layers(member.backend)] == [FatefulBackend, Witness, SqliteStore]
        assert [*layers(app.backend)] == [Witness, SqliteStore]
    assert [*layers(backend)] == [FatefulBackend, Witness, SqliteStore]


def layers(backend: object) -> Iterator[type]:
    """What a call goes through, one behind the other."""
    yield type(backend)
    if isinstance(backend, FatefulBackend | Witness):
        yield from layers(vars(backend)["_inner"])


async def nothing() -> None: ...
