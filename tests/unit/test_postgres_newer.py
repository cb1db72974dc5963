"""L4, L5: programs run on a schema that a later version has added to, and are refused where it has taken away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from noria.app.connect import Postgres, read_url
from noria.backends.contract import Parts, Want, WorkerCard
from noria.backends.postgres import PostgresBackend, schema
from noria.backends.postgres.backend import settings_of
from noria.backends.postgres.database import migrate, script, standing
from noria.backends.postgres.statements import migrations
from noria.cli import main
from noria.cli.checks_server import check_server
from noria.cli.exits import ExitCode
from noria.clock import SystemClock
from noria.errors import ConfigError, Unavailable
from noria.ids import IdSource
from noria.model.job import NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.postgres import SERVER, ask, namespace

CLOCK = SystemClock()
IDS = IdSource(CLOCK)

ADDS = """-- Adds only, as a step of a later version would.
-- Runs from: 1
ALTER TABLE noria.jobs ADD COLUMN colour text;
ALTER TABLE noria.ready ADD COLUMN weight integer NOT NULL DEFAULT 1;
ALTER TABLE noria.sessions ADD COLUMN colour text;
ALTER TABLE noria.held ADD COLUMN colour text;
ALTER TABLE noria.kept ADD COLUMN colour text;
ALTER TABLE noria.due ADD COLUMN colour text;
ALTER TABLE noria.board ADD COLUMN colour text;
CREATE TABLE noria.colours (name text PRIMARY KEY)
"""
TAKES_AWAY = """-- Changes what older programs use.
-- Runs from: {}
ALTER TABLE noria.jobs RENAME COLUMN body TO contents
"""
NEXT = schema.NEWEST + 1


@pytest.fixture
def schema_name() -> Iterator[str]:
    with namespace() as name:
        yield name


def migrated_by_a_later_version(name: str, *later: str) -> None:
    """What a program does that has further steps than this one."""
    known = {**migrations(), **{NEXT + at: step.format(NEXT + at) for at, step in enumerate(later)}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: known)
        patch.setattr(schema, "NEWEST", max(known))
        assert migrate(settings_of(SERVER, name, timeout=20.0), CLOCK).version == max(known)


@asynccontextmanager
async def opened(name: str) -> AsyncIterator[PostgresBackend]:
    there = psycopg.conninfo.make_conninfo(SERVER, application_name=name)
    backend = PostgresBackend(there, namespace=name, clock=CLOCK, ids=IDS, timeout=20.0)
    try:
        await backend.start()
        yield backend
    finally:
        await backend.aclose()


async def works(backend: PostgresBackend) -> None:
    """A job each way: one that succeeds, one that is put off and becomes due, one that fails."""
    jobs = [NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", unique=str(n)) for n in range(3)]
    session = await backend.open(WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",)))
    await backend.push(jobs)
    leases = (await backend.lease(session, [Want("q", 3)], 3, 1.0)).leases
    assert [lease.id for lease in leases] == [job.id for job in jobs]
    ends = [
        (Outcome.SUCCEEDED, State.SUCCEEDED),
        (Outcome.SNOOZED, State.SCHEDULED),
        (Outcome.FAILED, State.FAILED),
    ]
    await backend.settle(
        session,
        [Settlement(lease.id, lease.starts, *end, result=b"1" if end[1] is State.SUCCEEDED else None)
         for lease, end in zip(leases, ends, strict=True)],
    )  # fmt: skip
    while (await backend.sweep(100)).promoted:
        pass
    [again] = (await backend.lease(session, [Want("q", 1)], 1, 5.0)).leases
    await backend.settle(session, [Settlement(again.id, again.starts, *ends[0], result=b"2")])
    found = await backend.get([job.id for job in jobs], Parts.ALL)
    assert [record and record.state for record in found] == [State.SUCCEEDED, State.SUCCEEDED, State.FAILED]
    await backend.end(session, if_beat=None, started=None, evidence=None)


async def test_a_program_runs_on_a_schema_to_which_a_later_version_has_added(schema_name: str) -> None:
    migrated_by_a_later_version(schema_name, ADDS)

    async with opened(schema_name) as backend:
        await works(backend)

    assert ask(f'SELECT version FROM "{schema_name}".meta') == [NEXT]


async def test_a_program_that_runs_while_a_later_version_adds_goes_on(schema_name: str) -> None:
    async with opened(schema_name) as backend:
        await works(backend)
        migrated_by_a_later_version(schema_name, ADDS)
        await works(backend)


async def test_a_schema_in_which_a_later_version_changed_something_is_refused(schema_name: str) -> None:
    migrated_by_a_later_version(schema_name, ADDS, TAKES_AWAY)

    words = (
        rf"has schema {NEXT + 1}, which programs can use that know {NEXT + 1} or newer.*upgrade Noria here"
    )
    with pytest.raises(ConfigError, match=words):
        async with opened(schema_name):
            pass


async def test_what_takes_away_stays_refused_whatever_is_added_after_it(schema_name: str) -> None:
    """The mark is the highest of all steps that were ever taken, and not that of the last."""
    adds = "-- Adds.\n-- Runs from: 1\nCREATE TABLE noria.more (n integer)"
    migrated_by_a_later_version(schema_name, TAKES_AWAY)
    migrated_by_a_later_version(schema_name, TAKES_AWAY, adds)

    with pytest.raises(ConfigError, match="upgrade Noria here"):
        async with opened(schema_name):
            pass


async def test_a_program_that_connects_anew_to_a_schema_it_cannot_use_stops_before_harm(
    schema_name: str,
) -> None:
    async with opened(schema_name) as backend:
        await works(backend)
        migrated_by_a_later_version(schema_name, TAKES_AWAY)
        ask(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{schema_name}'"
        )

        with pytest.raises(Unavailable, match="upgrade Noria here"):
            await backend.counts()


def test_what_people_are_told_of_a_newer_schema(schema_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    migrated_by_a_later_version(schema_name, ADDS)
    url = f"{SERVER}?namespace={schema_name}"
    store = read_url(url)
    assert isinstance(store, Postgres)
    settings = settings_of(SERVER, schema_name, timeout=20.0)

    assert main.run(["--url", url, "db", "status"]) is ExitCode.OK
    assert f"version {NEXT}; this program knows {NEXT - 1}, and may run on it" in capsys.readouterr().out
    assert script(settings, CLOCK) == ""
    assert migrate(settings, CLOCK).version == standing(settings, CLOCK).version == NEXT
    [told] = [each for each in check_server(store, 20.0) if each.check == "schema"]
    assert not told.fix


@pytest.mark.parametrize(("number", "step"), sorted(migrations().items()))
def test_each_step_says_which_programs_it_still_lets_run(number: int, step: str) -> None:
    assert 1 <= schema.runs_from(step) <= number
