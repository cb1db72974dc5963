"""No statement looks through the jobs: each reaches them by the index that was made for it.

A plan that is right today can change with a word in a statement or with the next SQLite; a store of a million
jobs would notice first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import apsw
import pytest

from noria.backends.sqlite.settings import MEMORY
from noria.backends.sqlite.statements import migrations, statement, statement_names, without_comments
from noria.model.limits import SUSPECT_AT

FRAMES = {"begin_read", "begin_write", "commit", "rollback"}
BY_ID = "SEARCH jobs USING PRIMARY KEY (id=?)"

INTENDED = {
    "ahead": [
        "SEARCH j USING PRIMARY KEY (id=?)",
        "SEARCH o USING INDEX ready (queue=? AND lane=? AND (rank,id)<(?,?))",
        "SEARCH o USING INDEX suspects (queue=? AND lane=? AND (rank,id)<(?,?))",
    ],
    "alter_ask": [BY_ID],
    "alter_body": [BY_ID],
    "alter_discard": [BY_ID],
    "alter_erase": [BY_ID],
    "alter_look": [
        "SEARCH j USING PRIMARY KEY (id=?) LEFT-JOIN",
        "SEARCH k USING INDEX live_unique (task=? AND unique_key=?)",
    ],
    "alter_move": [BY_ID],
    "alter_past": [BY_ID],
    "alter_retry": [BY_ID],
    "alter_wait": [BY_ID],
    "claim_change": [BY_ID],
    "claim_look": ["SEARCH j USING PRIMARY KEY (id=?)"],
    "due_pick": ["SEARCH jobs USING INDEX due (queue=? AND due<?)"],
    "due_promote": [BY_ID],
    "erase": [BY_ID],
    "erased_drop": [BY_ID, "SEARCH jobs USING COVERING INDEX erased (prune_at<?)"],
    "dead_groups": ["SEARCH jobs USING COVERING INDEX dead_alike (fingerprint=?)"],
    "find_all": ["SEARCH jobs USING PRIMARY KEY (id<?)", "SEARCH jobs USING PRIMARY KEY (id>?)"],
    "find_correlated": [
        "SEARCH jobs USING COVERING INDEX correlated (<expr>=? AND id<?)",
        "SEARCH jobs USING COVERING INDEX correlated (<expr>=? AND id>?)",
    ],
    "find_dead": [
        "SEARCH jobs USING COVERING INDEX dead_letters (id<?)",
        "SEARCH jobs USING COVERING INDEX dead_letters (id>?)",
    ],
    "find_kin": ["SEARCH j USING PRIMARY KEY (id=?)"],
    "find_match": ["SEARCH j USING PRIMARY KEY (id=?)"],
    "find_unsuccessful": [
        "SEARCH jobs USING COVERING INDEX unsuccessful (state=? AND id<?)",
        "SEARCH jobs USING COVERING INDEX unsuccessful (state=? AND id>?)",
    ],
    "finish": [BY_ID],
    "held_pick": ["SEARCH jobs USING INDEX held (session=?)"],
    "lapsed_pick": ["SEARCH jobs USING INDEX lapsing (lapse>? AND lapse<?)"],
    "lease_look": [
        "SEARCH jobs USING INDEX ready (queue=? AND lane=?)",
        "SEARCH jobs USING INDEX suspects (queue=? AND lane=?)",
        "SEARCH jobs USING INDEX parked (task=? AND queue=? AND lane=?)",
        "SEARCH jobs USING INDEX due (queue=?)",
        "SEARCH jobs USING INDEX lapsing (lapse>? AND lapse<?)",
    ],
    "lease_read": ["SEARCH j USING PRIMARY KEY (id=?)"],
    "lease_take": [BY_ID],
    "parked_pick": ["SEARCH jobs USING INDEX parked_since (began<?)"],
    "prune_pick": [
        "SEARCH jobs USING INDEX kept (prune_at>? AND prune_at<?)",
        "SEARCH jobs USING INDEX kept_dead (prune_at>? AND prune_at<?)",
    ],
    "push_holds": [BY_ID],
    "push_release": [BY_ID],
    "push_taken": [
        "SEARCH s USING PRIMARY KEY (id=?) LEFT-JOIN",
        "SEARCH k USING INDEX live_unique (task=? AND unique_key=?) LEFT-JOIN",
    ],
    "records": ["SEARCH j USING PRIMARY KEY (id=?) LEFT-JOIN"],
    "session_orders": ["SEARCH jobs USING INDEX cancels (session=?)"],
    "session_end": ["SEARCH jobs USING INDEX held (session=?)"],
    "settle": [BY_ID],
    "settle_done": [BY_ID],
    "settle_look": ["SEARCH j USING PRIMARY KEY (id=?) LEFT-JOIN"],
    "settle_look_done": ["SEARCH j USING PRIMARY KEY (id=?) LEFT-JOIN"],
    "watch": [BY_ID],
}
"""How each statement is meant to reach the jobs. Whether a want can be met at all is looked up as well."""

HEAD = ("-- In: ", "-- Locks: ", "-- Safe to repeat: ")


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(MEMORY)
    for _, script in sorted(migrations().items()):
        connection.execute(without_comments(script))
    yield connection
    connection.close()


def plan(connection: apsw.Connection, name: str) -> list[str]:
    """The steps of a plan. What a parameter holds does not matter to it."""
    text = statement(name)
    count = max([int(number) for number in re.findall(r"\?(\d+)", text)], default=0)
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", (None,) * count)]


@pytest.mark.parametrize("name", sorted(INTENDED))
def test_a_statement_reaches_the_jobs_as_intended(connection: apsw.Connection, name: str) -> None:
    steps = plan(connection, name)

    assert [step for step in INTENDED[name] if step not in steps] == [], steps


@pytest.mark.parametrize("name", sorted(set(statement_names()) - FRAMES - {"find_live"}))
def test_no_statement_looks_through_the_jobs(connection: apsw.Connection, name: str) -> None:
    """A scan of a partial index is fine only where the first entry is enough."""
    fine = {
        "SCAN jobs USING COVERING INDEX parked_since",
        "SCAN jobs EXISTS USING COVERING INDEX parked_since",
    }
    scans = [step for step in plan(connection, name) if re.match(r"SCAN (jobs|j|blobs|board|b|flow)\b", step)]

    assert set(scans) <= fine


def test_few_live_jobs_are_listed_by_their_indexes(connection: apsw.Connection) -> None:
    """Asked only while they are few: see `sources.FEW`."""
    steps = plan(connection, "find_live")

    assert not [step for step in steps if step.startswith("SCAN jobs") and "INDEX" not in step]


@pytest.mark.parametrize(
    "name", ["due_pick", "held_pick", "lapsed_pick", "prune_pick", "find_all", "find_dead"]
)
def test_no_order_is_made_by_sorting(connection: apsw.Connection, name: str) -> None:
    assert [step for step in plan(connection, name) if "TEMP B-TREE" in step] == []


def test_a_lease_sorts_nothing_but_parked_jobs(connection: apsw.Connection) -> None:
    """Those of several tasks stand in as many ranges of their index; they are looked at only while there are some."""
    sorts = [step for step in plan(connection, "lease_look") if "TEMP B-TREE" in step]

    assert len(sorts) == 1


def test_the_schema_counts_suspects_as_the_model_does() -> None:
    script = migrations()[1]

    assert f"state = 2 AND crashes < {SUSPECT_AT}" in script
    assert f"state = 2 AND crashes >= {SUSPECT_AT}" in script


@pytest.mark.parametrize("name", statement_names())
def test_a_statement_says_what_it_does(name: str) -> None:
    text = (files("noria.backends.sqlite") / "sql" / f"{name}.sql").read_text("utf-8")

    assert [word for word in HEAD if word not in text] == []
    assert "Out: " in text
    assert text.count(";") == text.count("; ") + text.count(";\n"), "prose only: a file holds one statement"
