"""Every contract test runs once for each backend and mode."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from noria.backends.contract import Capabilities
from tests.contract.factories import FACTORIES, Factory, Mode, Options
from tests.contract.store import Place, Store
from tests.support.zygote import Zygote

CASES = [(factory, mode) for factory in FACTORIES.values() for mode in factory.modes]
STORM = os.environ.get("NORIA_STORM") == "1"
LOCAL = [(factory, mode) for factory, mode in CASES if mode != "restarted"]


def name_of(case: tuple[Factory, Mode]) -> str:
    return f"{case[0].name}-{case[1]}"


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


@pytest.fixture(params=CASES, ids=name_of)
async def store(request: pytest.FixtureRequest, short_tmp: Path) -> AsyncIterator[Store]:
    """A started store in a fresh namespace."""
    async with make_store(request, short_tmp, request.param) as store:
        yield store


@pytest.fixture(params=LOCAL, ids=name_of)
async def local(request: pytest.FixtureRequest, short_tmp: Path) -> AsyncIterator[Store]:
    """A started store whose backend object is in this process, for what cannot cross a socket."""
    async with make_store(request, short_tmp, request.param) as store:
        yield store


def make_store(
    request: pytest.FixtureRequest, folder: Path, case: tuple[Factory, Mode]
) -> AbstractAsyncContextManager[Store]:
    """A started store with the options of this test."""
    factory, mode = case
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


@asynccontextmanager
async def _opened(place: Place, restarts: random.Random | None, needed: list[str]) -> AsyncIterator[Store]:
    store = Store(place)
    place.processes.append(store)
    try:
        await store.begin()
        told = await store.capabilities()
        for field in needed:
            if not getattr(told, field):
                pytest.skip(f"{place.factory.name} does not declare the capability {field}")
        if restarts is not None:
            store.restart_by_itself(restarts)
        yield store
    finally:
        await place.close()
