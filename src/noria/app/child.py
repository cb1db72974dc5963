"""The program of a process that runs jobs for a worker: imports the application by its name, then works.

`python -m noria.app.child LINE LIFELINE`, the numbers of a socket and of a pipe to the worker. Only a worker starts it.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from noria.app import apart
from noria.app.application import Noria
from noria.app.locate import locate
from noria.app.surround import Lifespan
from noria.clock import SystemClock
from noria.errors import ConfigError
from noria.model.outcome import Failure
from noria.model.task import APART, LANES
from noria.worker.child import Desk, Line, NoState, Wait, settle_in
from noria.worker.describe import describe
from noria.worker.lifeline import hold
from noria.worker.wire import Broken, FromWorker, Hello, Ready


def main() -> None:
    """Work until the worker closes the line."""
    hold(int(sys.argv[2]))
    line = Line(int(sys.argv[1]))
    words = line.hear()
    hello = next(words, None)
    if not isinstance(hello, Hello):
        return
    settle_in(line, hello.level)
    try:
        apart.enter("imports")
        app = _application(hello)
        apart.enter("works")
        _work(app, hello, line, words)
    except BaseException as error:  # noqa: BLE001 - an import may raise anything, and who waits is told
        line.say(_broken(error))


def _work(app: Noria, hello: Hello, line: Line, words: Iterator[FromWorker]) -> None:
    """Take jobs, with the dependencies of scope "app" open; the application's lifespan is the worker's own."""
    state = NoState() if hello.has_state else None
    surroundings = app.surroundings(lifespan=False, leave=LANES.keys() - APART)
    # The loop is made when it is needed, and turns only while something stands around a handler.
    with asyncio.Runner() as runner, _opened(runner, surroundings.lifespan):
        line.say(Ready())
        Desk(surroundings.tasks, line, state, SystemClock(), _waiter(runner)).work(words)


@contextmanager
def _opened(runner: asyncio.Runner, lifespan: Lifespan | None) -> Iterator[None]:
    if lifespan is None:
        yield
        return
    shared = lifespan()
    runner.run(shared.__aenter__())
    try:
        yield
    finally:
        runner.run(shared.__aexit__(None, None, None))


def _waiter(runner: asyncio.Runner) -> Wait:
    return lambda work: runner.run(work, context=contextvars.copy_context())


def _application(hello: Hello) -> Noria:
    """Import the application as the worker has it.

    Raises:
        ConfigError: it cannot be imported, or lacks a task.
    """
    sys.path[:] = hello.path
    app = locate(hello.reference)
    for module in hello.modules:
        importlib.import_module(module)
    missing = [name for name in hello.tasks if name not in app.tasks]
    if missing:
        raise ConfigError(
            f"task {missing[0]!r} is not declared when {hello.reference} is imported; declare it at the top of a "
            "module"
        )
    if hello.url is not None:
        app.url = hello.url
    return app


def _broken(error: BaseException) -> Broken:
    """Why the application cannot be imported, with the traceback of the user's own code."""
    cause = error.__cause__ if isinstance(error, ConfigError) else error
    told = describe(error)
    trace = Failure.of("exception", "", traceback=describe(cause).traceback).traceback if cause else ""
    return Broken(told.message or told.type, trace)


if __name__ == "__main__":
    main()
