"""What `noria up` says first: what there is, and one command to try."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from noria.app.application import Noria
from noria.app.connect import read_url, without_credentials
from noria.app.schedules import ScheduleStatus, preview
from noria.app.signature import Signature, read_signature
from noria.backends.contract import Counts
from noria.cli.arguments import example, from_words, type_text
from noria.cli.escape import one_line
from noria.cli.front import Site
from noria.cli.quantities import age, count, duration, size
from noria.clock import utc
from noria.errors import ConfigError
from noria.model.schedule import Schedule
from noria.model.state import State
from noria.model.task import TaskDef
from noria.worker import WorkerSettings

NAMED: Final = 8
"""Tasks and queues that are named; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a greeting tells.

    Attributes:
        store: the backend and its file, or server.
        reach: on how many machines workers of this store may be; empty if that is not known.
        durability: what survives what.
        tasks, queues: names, in the order of their declaration.
        timers: how many there are, and when the next one is due, in words; empty if there are none.
        warnings: sentences.
        settings: of the worker.
        attempt: a command to try, and what it answers; None if no task's arguments can be invented.
        api: where the front is, or why there is none; empty if there is nothing to say.
        curl: the same as `attempt` over HTTP, if there is a front.
    """

    store: str
    reach: str
    durability: str
    tasks: tuple[str, ...]
    queues: tuple[str, ...]
    waiting: str
    warnings: tuple[str, ...]
    settings: WorkerSettings
    attempt: tuple[str, str] | None
    timers: str = ""
    api: str = ""
    curl: str | None = None


def gather(
    app: Noria,
    counts: Counts,
    settings: WorkerSettings,
    site: Site | None,
    *,
    name: str,
    url: str | None,
    timers: str,
) -> Facts:
    """Look around in an open application."""
    queues = tuple(dict.fromkeys(task.queue for task in app.tasks.values()))
    store, reach = store_of(app.where)
    return Facts(
        store=store,
        reach=reach,
        durability=app.backend.capabilities.durability,
        tasks=tuple(app.tasks),
        queues=queues,
        waiting=_waiting(counts),
        warnings=tuple(_warnings(queues, counts)),
        settings=settings,
        attempt=attempt(app.tasks, name=name, url=url),
        timers=timers,
        api="" if site is None else told(site),
        curl=None if site is None else curl(app.tasks, site),
    )


def store_of(url: str | None) -> tuple[str, str]:
    """What a store is, and its reach."""
    if url is None:
        return "the backend that the application was given", ""
    try:
        file = read_url(url).file
    except ConfigError:
        return without_credentials(url), ""
    if file is None:
        return without_credentials(url), "any number of machines"
    return f"{url.partition(':')[0]}, {file.absolute()}, {size(_bytes(file))}", "single machine"


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
            yield f"queue {one_line(name)} has {count(waiting, 'waiting job')}, and no task here uses it"
        parked = queue.states.get(State.PARKED, 0)
        if parked:
            yield f"{count(parked, 'job')} parked in queue {one_line(name)}: no worker knew their task"
    if counts.workers:
        yield f"{count(len(counts.workers), 'worker')} live on this store already"


@dataclass(frozen=True, slots=True)
class _Try:
    """A task that can be tried, and words for its arguments."""

    task: TaskDef
    signature: Signature
    words: list[str]

    @property
    def silent(self) -> bool:
        """It returns nothing."""
        return self.signature.returns in (None, type(None))


def _easiest(tasks: Mapping[str, TaskDef]) -> _Try | None:
    """The first task that returns something, one that is safe before the others."""
    found = []
    for task in tasks.values():
        signature = read_signature(task.handler, task.name)
        words = example(signature)
        if words is not None:
            found.append(_Try(task, signature, words))
    return min(found, key=lambda each: (each.silent, not each.task.safe), default=None)


def attempt(tasks: Mapping[str, TaskDef], *, name: str, url: str | None) -> tuple[str, str] | None:
    """A command that enqueues a real task, and what it prints."""
    found = _easiest(tasks)
    if found is None:
        return None
    where = ["--url", without_credentials(url)] if url else []
    command = ["noria", "enqueue", found.task.name, *found.words, "--wait", "10", "--app", name, *where]
    what = f"what {found.task.name} returns ({type_text(found.signature.returns)})"
    return shlex.join(command), "null" if found.silent else what


def curl(tasks: Mapping[str, TaskDef], site: Site) -> str | None:
    """A command that calls the same task over HTTP, and prints the same."""
    found = _easiest(tasks)
    if found is None or not site.url:
        return None
    url = f"{site.url}/v1/call/{quote(found.task.name, safe='')}"
    args = from_words(found.signature, found.words)
    if found.task.safe and all(isinstance(value, str | int | float) for value in args.values()):
        query = urlencode(dict(word.split("=", 1) for word in found.words))
        command = shlex.join(["curl", f"{url}?{query}" if query else url])
    else:
        body = msgspec.json.encode(args).decode()
        command = shlex.join(["curl", url, "-H", "Content-Type: application/json", "-d", body])
    return command + (' -H "Authorization: Bearer $NORIA_API_KEY"' if site.locked else "")


def told(site: Site) -> str:
    """Where the front is, and what it asks for."""
    if not site.url:
        return f"none; it needs {site.missing}, which is not here: pip install noria[serve]"
    taken = site.port and not site.url.endswith(f":{site.port}")
    asks = "with a key, as in $NORIA_API_KEY" if site.locked else "no key is needed on this machine"
    return f"{site.url}{f' ({site.port} is taken)' if taken else ''}, documented at {site.url}/docs; {asks}"


def lines(facts: Facts) -> Iterator[str]:
    """The greeting, in fewer than 20 lines."""
    tasks, queues = count(len(facts.tasks), "task"), count(len(facts.queues), "queue")
    yield f"Noria {metadata.version('noria')} on Python {platform.python_version()}, pid {os.getpid()}"
    yield f"  store     {facts.store}"
    yield f"            {'; '.join(filter(None, (facts.reach, facts.durability)))}"
    timers = f"; {facts.timers}" if facts.timers else ""
    yield f"  found     {tasks}: {_named(facts.tasks)}; {queues}: {_named(facts.queues)}{timers}"
    yield f"  waiting   {facts.waiting}"
    for warning in facts.warnings[:4]:
        yield f"  warning   {warning}"
    if len(facts.warnings) > 4:
        yield f"  warning   and {len(facts.warnings) - 4} more; see noria doctor"
    slots = facts.settings
    yield f"  slots     async {slots.concurrency}, threads {slots.threads}, processes {slots.process_slots}"
    if facts.api:
        yield f"  api       {facts.api}"
    if facts.attempt is not None:
        yield "  try       in another terminal, in this folder:"
        yield f"              {facts.attempt[0]}"
        if facts.curl is not None:
            yield f"              {facts.curl}"
        yield f"            {'answers' if facts.curl is None else 'either answers'} {facts.attempt[1]}"
    yield f"  Ctrl-C drains up to {duration(facts.settings.grace)}, again stops now"
    yield ""


def timers_of(stored: Iterable[ScheduleStatus], declared: Mapping[str, Schedule], now: float) -> str:
    """The timers that this application's workers run, and when the next one is due: "2 timers (next in 41 s)"."""
    there = {each.name: each for each in stored}
    made = {name: each.next for name, each in there.items() if each.source == "api"}
    mine = {**made, **{name: _coming(each, there.get(name), now) for name, each in declared.items()}}
    if not mine:
        return ""
    soonest = min((slots[0].timestamp() for slots in mine.values() if slots), default=None)
    return (
        f"{count(len(mine), 'timer')} ({'none is due' if soonest is None else f'next {age(soonest, now)}'})"
    )


def _coming(declared: Schedule, stored: ScheduleStatus | None, now: float) -> list[datetime]:
    """The next slot of a timer of this code, if it is not paused."""
    if stored is not None and stored.paused is not None:
        return []
    return preview(declared.rule, utc(now), 1)


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
