"""A search that takes too long is given up between two portions, and goes on where it stood."""

from __future__ import annotations

import pytest

from noria.backends.contract import Page, Query, Tallied, Term
from noria.backends.sql.find import PATIENCE, WINDOWS, Find, Tally
from noria.ids import Id
from tests.support.manual import ManualClock
from tests.support.sqlite import Bench

NOTHING = Query(terms=(Term("text", "nowhere to be found"),))


class Slow(ManualClock):
    """Each look at the clock costs more than a search may take."""

    def monotonic(self) -> float:
        self.advance(PATIENCE + 1)
        return super().monotonic()


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def stored(bench: Bench) -> list[Id]:
    """A portion and a half, the oldest first."""
    return [receipt.id for receipt in bench.push(*(bench.job() for _ in range(WINDOWS[0] + 500)))]


def search(bench: Bench, clock: ManualClock, after: Id | None = None) -> Page:
    page: Page = bench.ask(Find(clock, NOTHING, after, 10))
    return page


def test_a_search_in_time_sees_everything(bench: Bench, stored: list[Id]) -> None:
    page = search(bench, ManualClock())

    assert (page.records, page.next, page.scan_limited) == ([], None, False)


def test_a_slow_search_is_given_up_and_goes_on_where_it_stood(bench: Bench, stored: list[Id]) -> None:
    first = search(bench, Slow())
    assert (first.records, first.scan_limited) == ([], True)
    assert first.next == stored[-WINDOWS[0]]

    second = search(bench, ManualClock(), first.next)
    assert (second.records, second.next, second.scan_limited) == ([], None, False)


def test_a_slow_count_says_that_there_may_be_more(bench: Bench, stored: list[Id]) -> None:
    tallied: Tallied = bench.ask(Tally(Slow(), NOTHING, 100))

    assert (tallied.n, tallied.scan_limited) == (0, True)


def test_a_search_looks_at_a_hundred_thousand_rows() -> None:
    assert sum(WINDOWS) == 100_000
