"""What is decided without a request: patterns that meet, routes that are found, preferences that are read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noria.backends.contract import Query
from noria.errors import InvalidInput, InvalidOption
from noria.front.listener import is_loopback
from noria.front.principal import Principal, matches
from noria.front.problem import pointer_to
from noria.front.query import meet, narrowed, read_query
from noria.front.rates import Buckets, Rate
from noria.front.route import Table
from noria.front.routes import ROUTES
from noria.front.settings import FrontSettings
from tests.support.manual import ManualClock

PATTERN = st.builds(str.__add__, st.text("ab.", min_size=1, max_size=3), st.sampled_from(["", "*"]))
PATTERNS = st.lists(PATTERN, min_size=1, max_size=4).map(tuple)


@given(PATTERNS, PATTERNS, st.text("ab.", min_size=1, max_size=4))
def test_patterns_that_meet_take_what_both_take(some: Any, others: Any, name: str) -> None:
    assert matches(name, meet(some, others)) == (matches(name, some) and matches(name, others))


@given(PATTERNS, st.none() | PATTERNS, st.text("ab.", min_size=1, max_size=4))
def test_a_limited_key_never_sees_more_than_it_may(allowed: Any, asked: Any, name: str) -> None:
    who = Principal("k", frozenset({"jobs:read"}), queues=allowed)
    seen = narrowed(Query(queues=asked or ()), who)
    taken = seen is not None and matches(name, seen.queues)

    assert taken == (who.sees_queue(name) and (asked is None or matches(name, asked)))


@given(st.text(max_size=60))
def test_query_words_of_whatever_kind_are_read_or_refused(text: str) -> None:
    try:
        read_query({"q": text}, 1e9)
    except InvalidInput as error:
        assert str(error)


@given(st.text("/abv1jobs{}%", max_size=30))
def test_paths_of_whatever_kind_are_found_or_not(path: str) -> None:
    found = Table(ROUTES).find(path)

    assert found is None or found[0]


def test_every_route_is_found_at_its_own_path() -> None:
    table = Table(ROUTES)
    for route in ROUTES:
        methods, values = table.find(
            route.path.replace("{id}", "x").replace("{name}", "y").replace("{task}", "z")
        ) or ({}, {})
        assert methods[route.method] is route
        assert set(values.values()) <= {"x", "y", "z", *route.path.split("/")}


def test_what_people_name_may_be_called_as_a_verb_is_but_no_id_is() -> None:
    table = Table(ROUTES)
    methods, values = table.find("/v1/schedules/preview") or ({}, {})

    assert set(methods) == {"GET", "POST", "PUT", "DELETE"}
    assert values == {"name": "preview"}
    assert set((table.find("/v1/jobs/batch") or ({}, {}))[0]) == {"POST"}


@pytest.mark.parametrize(
    ("path", "pointer"),
    [("", ""), ("a", "/a"), ("order.items[0].price", "/order/items/0/price"), ("a~b/c", "/a~0b~1c")],
)
def test_paths_become_json_pointers(path: str, pointer: str) -> None:
    assert pointer_to(path) == pointer


def test_a_rate_is_kept_and_what_was_not_used_is_not_saved_up() -> None:
    clock = ManualClock()
    buckets = Buckets(clock)

    def takes() -> int:
        count = 0
        while (stand := buckets.take("k", Rate(2.0, 2.0))).taken:
            count += 1
        assert 0 < stand.wait <= 0.5
        return count

    assert takes() == 2
    clock.advance(0.5)
    assert takes() == 1
    clock.advance(3_600)
    assert takes() == 2


@pytest.mark.parametrize(
    ("host", "own"),
    [("localhost", True), ("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("[::1]", True),
     ("0.0.0.0", False), ("::", False), ("192.168.0.1", False), ("localhost.evil", False), ("", False)],
)  # fmt: skip
def test_only_this_machines_own_addresses_are_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own


@pytest.mark.parametrize(
    "settings",
    [{"api_key": "short"}, {"api_key": "with a space in it"}, {"api_key": ""}, {"wait": -1}, {"waiters": True},
     {"open": 1}, {"hosts": "localhost"}, {"hosts": ("a:80",)}, {"origins": ("evil",)}, {"rate": 0}, {"weight": 5}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused_at_the_start(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        FrontSettings.of(settings)
    if len(str(settings.get("api_key") or "")) > 1:
        assert str(settings["api_key"]) not in str(caught.value)
