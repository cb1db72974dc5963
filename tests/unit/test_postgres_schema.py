"""A namespace is made once, by whoever comes first; what is not ours, or newer than we are, is refused."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from noria.backends.contract import Change, DocWrite, Verdict, Want, WorkerCard
from noria.backends.postgres import PostgresBackend, schema
from noria.backends.postgres.backend import settings_of
from noria.backends.postgres.connection import open_wire
from noria.backends.postgres.database import migrate, script, standing
from noria.backends.postgres.engine import Engine
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement, statement_names
from noria.clock import SystemClock
from noria.errors import ConfigError, Unavailable
from noria.ids import IdSource
from noria.model.job import NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.postgres import SERVER, ask, namespace, private_server

CLOCK = SystemClock()
GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "postgresql.md"


@pytest.fixture
def settings() -> Iterator[Settings]:
    with namespace() as name:
        yield settings_of(SERVER, name, timeout=20.0)


def run(text: str) -> None:
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(text.encode())


def test_looking_at_a_namespace_does_not_make_it(settings: Settings) -> None:
    found = standing(settings, CLOCK)

    assert (found.version, found.newest) == (0, schema.NEWEST)
    assert ask(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{settings.namespace}'") == [0]


def test_a_namespace_is_made_and_then_up_to_date(settings: Settings) -> None:
    assert migrate(settings, CLOCK).current
    assert migrate(settings, CLOCK).current
    assert script(settings, CLOCK) == ""


def test_the_printed_sql_does_what_a_migration_does(settings: Settings) -> None:
    """For somebody who may make schemas, where we may not."""
    run(script(settings, CLOCK))

    assert standing(settings, CLOCK).current


def test_many_processes_that_open_a_new_namespace_at_once_make_it_once(settings: Settings) -> None:
    """L6."""
    faults: list[Exception] = []

    def start() -> None:
        engine = Engine(settings, CLOCK, "s")
        try:
            engine.open()
        except Exception as error:
            faults.append(error)
        finally:
            engine.close()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert faults == []
    assert ask(f'SELECT version FROM "{settings.namespace}".meta') == [schema.NEWEST]


def test_a_schema_of_something_else_is_refused_and_left_alone(settings: Settings) -> None:
    run(f'CREATE SCHEMA "{settings.namespace}"; CREATE TABLE "{settings.namespace}".theirs (n integer)')

    with pytest.raises(ConfigError, match="holds tables of something else"):
        Engine(settings, CLOCK, "s").open()
    assert ask(
        f"SELECT relname::text FROM pg_class WHERE relnamespace = '{settings.namespace}'::regnamespace"
    ) == ["theirs"]


@pytest.mark.parametrize(
    "theirs", ["meta (key text, value text)", "meta (version integer)", "jobs (id integer)"]
)
def test_a_table_of_something_else_that_has_a_name_of_ours_is_refused(
    settings: Settings, theirs: str
) -> None:
    run(f'CREATE SCHEMA "{settings.namespace}"; CREATE TABLE "{settings.namespace}".{theirs}')

    with pytest.raises(ConfigError, match="holds tables of something else"):
        standing(settings, CLOCK)


def test_an_empty_schema_that_somebody_made_for_us_is_used(settings: Settings) -> None:
    run(f'CREATE SCHEMA "{settings.namespace}"')

    assert migrate(settings, CLOCK).current


@pytest.fixture
def shop(settings: Settings) -> Iterator[Settings]:
    """The same as a user who may make no schema in the database."""
    role = f"{settings.namespace}_shop"
    run(f'CREATE ROLE "{role}" LOGIN')
    try:
        yield settings_of(make_conninfo(SERVER, user=role), settings.namespace, timeout=20.0)
    finally:
        run(f'DROP SCHEMA IF EXISTS "{settings.namespace}" CASCADE; DROP ROLE "{role}"')


def test_a_schema_that_somebody_made_for_a_user_who_may_make_none_is_used(shop: Settings) -> None:
    run(f'CREATE SCHEMA "{shop.namespace}" AUTHORIZATION "{shop.namespace}_shop"')

    assert "CREATE SCHEMA" not in script(shop, CLOCK)
    assert migrate(shop, CLOCK).current


async def test_the_rights_that_the_guide_grants_are_enough(shop: Settings, settings: Settings) -> None:
    migrate(settings, CLOCK)
    (grants,) = re.findall(r"```text\n(GRANT .*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    run(
        grants.replace("SCHEMA noria", f'SCHEMA "{shop.namespace}"').replace(
            "TO app", f'TO "{shop.namespace}_shop"'
        )
    )
    backend = PostgresBackend(shop.conninfo, namespace=shop.namespace, clock=CLOCK, ids=IdSource(CLOCK))
    await backend.start()
    try:
        session = await backend.open(WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",)))
        new = NewJob(id=IdSource(CLOCK).next(), task="t", queue="q", body=b"[]", unique="k")
        await backend.push([new], [DocWrite("kind", "name", b"1")])
        (lease,) = (await backend.lease(session, [Want("q", 1)], 1, 5.0)).leases
        end = Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
        assert await backend.settle(session, [end]) == [Verdict.OK]
        assert [each.status for each in await backend.alter([new.id], Change(kind="erase"))] == ["done"]
        await backend.sweep(100)
    finally:
        await backend.aclose()


def test_a_user_who_may_make_no_schema_is_told_who_can(shop: Settings) -> None:
    with pytest.raises(ConfigError, match=r"let somebody who may run `noria db migrate`.*AUTHORIZATION"):
        Engine(shop, CLOCK, "s").open()


def test_a_schema_that_only_a_newer_version_can_use_is_refused(settings: Settings) -> None:
    """L5."""
    migrate(settings, CLOCK)
    newer = schema.NEWEST + 1
    run(f'UPDATE "{settings.namespace}".meta SET version = {newer}, runs_from = {newer}')

    with pytest.raises(ConfigError, match=f"has schema {newer}.*upgrade Noria here"):
        Engine(settings, CLOCK, "s").open()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dbname": "no_such_database"}, "no such database: create it"),
        ({"user": "no_such_role"}, "does not let this user in|create the user"),
        ({"sslmode": "bogus"}, "an option of the URL does not fit"),
        ({"port": "99999"}, "an option of the URL does not fit"),
        ({"options": "-c nosuch=1"}, "an option of the URL does not fit"),
        ({"options": "-c statement_timeout=x"}, "an option of the URL does not fit"),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, dict) else "",
)
def test_what_nobody_but_its_owner_can_mend_is_a_mistake_in_the_settings(
    settings: Settings, wrong: dict[str, str], words: str
) -> None:
    """No outage, which would be waited out."""
    conninfo = make_conninfo(SERVER, **wrong)

    with pytest.raises(ConfigError, match=words):
        Engine(settings_of(conninfo, settings.namespace, timeout=5.0), CLOCK, "s").open()


def test_a_wrong_password_is_a_mistake_in_the_settings(settings: Settings) -> None:
    role = f"{settings.namespace}_role"
    with private_server() as server:
        ask(f"CREATE ROLE {role} LOGIN PASSWORD 'right'", server.url)
        server.ask_passwords()
        conninfo = make_conninfo(server.url, user=role, password="wr0ng")

        with pytest.raises(ConfigError, match="refuses the user or the password") as caught:
            Engine(settings_of(conninfo, settings.namespace, timeout=5.0), CLOCK, "s").open()

    assert "wr0ng" not in str(caught.value)


def test_a_server_that_is_not_there_is_said_to_be_unavailable(settings: Settings) -> None:
    nowhere = make_conninfo("", host="127.0.0.1", port="1", dbname="shop")

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1/shop"):
        Engine(settings_of(nowhere, settings.namespace, timeout=5.0), CLOCK, "s").open()


def test_every_statement_can_be_prepared_and_looks_through_no_table_of_jobs(settings: Settings) -> None:
    """A plan that is right for a small table must be right for a large one: an index, or nothing.

    An index that is read from its beginning to its end is as bad: a small table is joined in that way.
    """
    migrate(settings, CLOCK)
    wire = open_wire(settings, CLOCK)
    scans = {}
    try:
        for name in statement_names():
            text = statement(name, settings.namespace).decode()
            if not text.lstrip().startswith(("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")):
                continue
            wire.script(f"PREPARE looked AS {text}")
            values = ", ".join(["NULL"] * _parameters(text))
            plan = wire.script(f"EXPLAIN EXECUTE looked{f'({values})' if values else ''}")[0]
            lines = [(plan.get_value(row, 0) or b"").decode() for row in range(plan.ntuples)]
            scans[name] = [line.strip() for line in lines if "Seq Scan on" in line] + [
                line.strip()
                for line, below in pairwise([*lines, ""])
                if re.search(r"Index (Only )?Scan using \w+ on jobs\b", line) and "Index Cond" not in below
            ]
            wire.script("DEALLOCATE looked")
    finally:
        wire.close()

    small = (
        "pauses",
        "meta",
        "count_changes",
        "flow_changes",
        "count_sums",
        "flow_sums",
        "sessions",
        "letters",
        "limits",
    )
    found = {
        name: [line for line in lines if not any(f"Seq Scan on {table}" in line for table in small)]
        for name, lines in scans.items()
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


def _parameters(text: str) -> int:
    return max([int(number) for number in re.findall(r"\$(\d+)", text)], default=0)
