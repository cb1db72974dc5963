"""Every contract test runs once for each backend and mode."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from _pytest.mark import ParameterSet

from noria.backends.contract import Capabilities
from tests.contract.factories import FACTORIES, Factory, Mode, Options
from tests.contract.store import Place, Store
from tests.support.left_out import Undeclared
from tests.support.zygote import Zygote

CASES = [(factory, mode) for factory in FACTORIES.values() for mode in factory.modes]
STORM = os.environ.get("NORIA_STORM") == "1"
LOCAL = [(factory, mode) for factory, mode in CASES if mode != "restarted"]
HERE = Path(__file__).parent
PROXIED = ("test_push.py", "test_lease.py", "test_hostile.py")
"""What is run "proxied" in every suite: calls of all sizes. The rest takes minutes, and is left to storms."""


def name_of(case: tuple[Factory, Mode]) -> str:
    return f"{case[0].name}-{case[1]}"


def params(cases: list[tuple[Factory, Mode]]) -> list[ParameterSet]:
    """The cases as parameters of a fixture; what is run "proxied" belongs to storms."""
    storm = {"proxied": [pytest.mark.storm]}
    return [pytest.param(case, id=name_of(case), marks=storm.get(case[1], [])) for case in cases]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    alone = config.option.contract_of
    left_out = {item for item in items if _waits_for_a_storm(item) or _is_of_another(item, alone)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _waits_for_a_storm(item: pytest.Item) -> bool:
    case = _case(item)
    return not STORM and case is not None and case[1] == "proxied" and item.path.name not in PROXIED


def _is_of_another(item: pytest.Item, alone: str | None) -> bool:
    case = _case(item)
    return alone is not None and case is not None and case[0].name != alone


def _case(item: pytest.Item) -> tuple[Factory, Mode] | None:
    """The backend and mode that a contract test runs with."""
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get("store", call.params.get("local"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "store(restarts=True, **options): the options of this test's store; restarts=False keeps it from being "
        "restarted except where the test says so",
    )
    config.addinivalue_line(
        "markers", "needs(capability): what a backend must declare for this test to apply"
    )


def needs(capability: str) -> pytest.MarkDecorator:
    """Leave a test out where the backend does not declare this: the only way to leave one out."""
    if capability not in {field.name for field in msgspec.structs.fields(Capabilities)}:
        raise ValueError(f"{capability} is no capability of a backend")
    return pytest.mark.needs(capability)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Forks the processes that mode "restarted" kills."""
    zygote = Zygote("tests.contract.factories")
    yield zygote
    zygote.close()


@pytest.fixture(params=params(CASES))
async def store(request: pytest.FixtureRequest, short_tmp: Path) -> AsyncIterator[Store]:
    """A started store in a fresh namespace."""
    async with make_store(request, short_tmp, request.param) as store:
        yield store


@pytest.fixture(params=params(LOCAL))
async def local(request: pytest.FixtureRequest, short_tmp: Path) -> AsyncIterator[Store]:
    """A started store whose backend object is in this process, for what cannot cross a socket."""
    async with make_store(request, short_tmp, request.param) as store:
        yield store


def make_store(
    request: pytest.FixtureRequest, folder: Path, case: tuple[Factory, Mode]
) -> AbstractAsyncContextManager[Store]:
    """A started store with the options of this test."""
    factory, mode = case
    leave_out_if_missing(factory)
    marker = request.node.get_closest_marker("store")
    wanted = dict(marker.kwargs) if marker else {}
    restarts = wanted.pop("restarts", True) and mode == "restarted"
    # Which calls they fall on differs from test to test, and in a storm from run to run.
    rng = random.Random(f"{request.config.option.seed if STORM else 0} {request.node.nodeid}")
    zygote = request.getfixturevalue("zygote") if mode == "restarted" else None
    place = Place(factory, factory.fresh(folder), mode, Options(**wanted), zygote)
    return _opened(
        place, rng if restarts else None, [marker.args[0] for marker in request.node.iter_markers("needs")]
    )


def leave_out_if_missing(factory: Factory) -> None:
    """A server that is not there is named, and what needs it is left out; never taken for tested."""
    if why := factory.missing():
        pytest.skip(why)


@asynccontextmanager
async def _opened(place: Place, restarts: random.Random | None, needed: list[str]) -> AsyncIterator[Store]:
    store = Store(place)
    place.processes.append(store)
    try:
        await store.begin()
        told = await store.capabilities()
        for field in needed:
            if not getattr(told, field):
                raise Undeclared(f"{place.factory.name} does not declare the capability {field}")
        if restarts is not None:
            store.restart_by_itself(restarts)
        yield store
    finally:
        await place.close()
