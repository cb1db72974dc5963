"""The groups and needs of jobs, as heads on Redis have them."""

from __future__ import annotations

import pytest

from noria.backends.redis.ties import declaration, group_of, needs_of, tie, told
from noria.clock import SystemClock
from noria.ids import IdSource
from noria.model.groups import Grouped, GroupRef, Need, Rule
from noria.model.job import NewJob

IDS = IdSource(SystemClock())
HOST = GroupRef("host", "exämple org=1")
TUNNEL = Need("tunnel", capacity=2)


def job(group: Grouped | None = None, needs: tuple[Need, ...] = ()) -> NewJob:
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", group=group, needs=needs)


@pytest.mark.parametrize("group", [None, HOST], ids=["free", "grouped"])
@pytest.mark.parametrize("needs", [(), ("screen",), ("screen", "tunnel")], ids=["none", "one", "two"])
def test_a_head_says_to_what_a_job_is_tied(group: GroupRef | None, needs: tuple[str, ...]) -> None:
    text = tie(job(None if group is None else Grouped(group), tuple(map(Need, needs))))

    assert (group_of(text), needs_of(text)) == (group, needs)
    assert bool(text) == bool(group or needs)


def test_a_job_that_needs_too_much_is_refused() -> None:
    with pytest.raises(ValueError, match="it needs 9 resources"):
        tie(job(needs=tuple(Need(f"r{n}") for n in range(9))))


def test_only_what_is_known_is_told() -> None:
    rule = Rule(limit=2)

    assert told([job(), job(Grouped(HOST), (Need("tunnel"),))]) == b""
    assert told([job(Grouped(HOST, rule), (TUNNEL,))]) == declaration({"host": rule}, {"tunnel": TUNNEL})
