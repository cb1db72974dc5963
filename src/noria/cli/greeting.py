"""What `noria up` says first: what there is, and one command to try."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from noria.app.application import Noria
from noria.app.config import backend_url
from noria.app.connect import read_url, without_credentials
from noria.app.signature import read_signature
from noria.backends.contract import Counts
from noria.cli.arguments import example, type_text
from noria.cli.escape import one_line
from noria.cli.quantities import count, duration, size
from noria.errors import ConfigError
from noria.model.state import State
from noria.model.task import TaskDef
from noria.worker import WorkerSettings

NAMED: Final = 8
"""Tasks and queues that are named; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a greeting tells.

    Attributes:
        store: the backend and its file.
        durability: what survives what.
        tasks, queues: names, in the order of their declaration.
        warnings: sentences.
        settings: of the worker.
        attempt: a command to try, and what it answers; None if no task's arguments can be invented.
    """

    store: str
    durability: str
    tasks: tuple[str, ...]
    queues: tuple[str, ...]
    waiting: str
    warnings: tuple[str, ...]
    settings: WorkerSettings
    attempt: tuple[str, str] | None


def gather(app: Noria, counts: Counts, settings: WorkerSettings, *, name: str, url: str | None) -> Facts:
    """Look around in an open application."""
    queues = tuple(dict.fromkeys(task.queue for task in app.tasks.values()))
    return Facts(
        store=_store(app),
        durability=app.backend.capabilities.durability,
        tasks=tuple(app.tasks),
        queues=queues,
        waiting=_waiting(counts),
        warnings=tuple(_warnings(queues, counts)),
        settings=settings,
        attempt=attempt(app.tasks, name=name, url=url),
    )


def _store(app: Noria) -> str:
    url = app.url or backend_url()
    try:
        file = read_url(url).path
    except ConfigError:
        return without_credentials(url)
    return f"{url.partition(':')[0]}, {file.absolute()}, {size(_bytes(file))}"


def _bytes(file: Path) -> int:
    parts = (file, file.with_name(file.name + "-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())


def _waiting(counts: Counts) -> str:
    """The jobs that are there already."""
    total: dict[State, int] = {}
    for queue in counts.queues.values():
        for state, number in queue.states.items():
            total[state] = total.get(state, 0) + number
    live = [f"{total[state]:,} {state.word}" for state in State if not state.final and total.get(state)]
    dead = sum(queue.dead for queue in counts.queues.values())
    return ", ".join([*live, *([count(dead, "dead letter")] if dead else [])]) or "nothing"


def _warnings(queues: tuple[str, ...], counts: Counts) -> Iterator[str]:
    for name, queue in sorted(counts.queues.items()):
        waiting = queue.states.get(State.QUEUED, 0)
        if waiting and name not in queues:
            yield f"{count(waiting, 'job')} wait in queue {one_line(name)}, which no task here uses"
        parked = queue.states.get(State.PARKED, 0)
        if parked:
            yield f"{count(parked, 'job')} parked in queue {one_line(name)}: no worker knew their task"
    if counts.workers:
        yield f"{count(len(counts.workers), 'worker')} live on this store already"


def attempt(tasks: Mapping[str, TaskDef], *, name: str, url: str | None) -> tuple[str, str] | None:
    """A command that enqueues a real task, and what it prints: the first task that returns something."""
    found = []
    for task in tasks.values():
        signature = read_signature(task.handler, task.name)
        words = example(signature)
        if words is not None:
            silent = signature.returns in (None, type(None))
            found.append((silent, task.name, words, signature.returns))
    if not found:
        return None
    _, task_name, words, returns = min(found, key=lambda each: each[0])  # of equals, the first
    where = ["--url", without_credentials(url)] if url else []
    command = ["noria", "enqueue", task_name, *words, "--wait", "10", "--app", name, *where]
    answer = "null" if returns in (None, type(None)) else f"what {task_name} returns ({type_text(returns)})"
    return shlex.join(command), answer


def lines(facts: Facts) -> Iterator[str]:
    """The greeting, in fewer than 20 lines."""
    tasks, queues = count(len(facts.tasks), "task"), count(len(facts.queues), "queue")
    yield f"Noria {metadata.version('noria')} on Python {platform.python_version()}, pid {os.getpid()}"
    yield f"  store     {facts.store}"
    yield f"            single machine; {facts.durability}"
    yield f"  found     {tasks}: {_named(facts.tasks)}; {queues}: {_named(facts.queues)}"
    yield f"  waiting   {facts.waiting}"
    for warning in facts.warnings[:4]:
        yield f"  warning   {warning}"
    if len(facts.warnings) > 4:
        yield f"  warning   and {len(facts.warnings) - 4} more; see noria doctor"
    yield f"  slots     async {facts.settings.concurrency}, threads {facts.settings.threads}"
    if facts.attempt is not None:
        yield "  try       in another terminal, in this folder:"
        yield f"              {facts.attempt[0]}"
        yield f"            answers {facts.attempt[1]}"
    yield f"  Ctrl-C drains up to {duration(facts.settings.grace)}, again stops now"
    yield ""


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
