"""Which jobs a lease takes: decided without a store, so that every corner can be looked into."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noria.backends.contract import Want
from noria.backends.sql.choice import Candidate, Line, choose
from noria.model.job import Lane


def line(ready: str = "", parked: str = "", suspects: str = "") -> Line:
    """A line of jobs named by letters, whose ranks are their places in the alphabet."""

    def candidates(names: str) -> list[Candidate]:
        return [(ord(name.lower()) - ord("a"), name) for name in names]

    return Line(candidates(parked), candidates(ready), candidates(suspects))


def chosen(wants: list[Want], lines: list[Line], limit: int = 100) -> str:
    return "".join(choose(wants, lines, limit))


def test_each_want_is_filled_in_order_of_rank() -> None:
    assert chosen([Want("a", 2), Want("b", 1)], [line("abc"), line("xyz")]) == "abx"


def test_the_limit_holds_for_all_wants_together() -> None:
    assert chosen([Want("a", 2), Want("b", 2)], [line("abc"), line("xyz")], 3) == "abx"
    assert chosen([Want("a", 2)], [line("abc")], 0) == ""


def test_parked_jobs_come_first() -> None:
    assert chosen([Want("a", 3)], [line("abc", parked="yz")]) == "yza"


def test_what_a_queue_cannot_fill_goes_to_the_others_of_its_lane() -> None:
    assert chosen([Want("a", 3), Want("b", 1)], [line("a"), line("wxyz")]) == "awxy"


def test_no_lane_fills_the_slots_of_another() -> None:
    wants = [Want("a", 3, lane=Lane.LOOP), Want("a", 1, lane=Lane.THREAD)]

    assert chosen(wants, [line("a"), line("wxyz")]) == "aw"


def test_one_suspect_starts_in_its_turn() -> None:
    assert chosen([Want("a", 3)], [line("ace", suspects="B")]) == "aBc"


def test_a_suspect_is_never_held_ready() -> None:
    assert chosen([Want("a", 1, ahead=5)], [line("ace", suspects="B")]) == "ace"
    assert chosen([Want("a", 0, ahead=5)], [line("", suspects="B")]) == ""


def test_there_is_one_suspect_at_most() -> None:
    wants = [Want("a", 2), Want("b", 2)]

    assert chosen(wants, [line("", suspects="A"), line("", suspects="B")]) == "A"
    assert chosen([Want("a", 5)], [line("", suspects="BA")]) == "A"


def test_two_wants_of_the_same_line_take_no_job_twice() -> None:
    assert chosen([Want("a", 2), Want("a", 2)], [line("abc"), line("abc")]) == "ab"


def test_a_worker_with_a_suspect_gets_no_other() -> None:
    assert chosen([Want("a", 3, suspect=False)], [line("ac", suspects="B")]) == "ac"


ranks = st.lists(st.integers(0, 50), max_size=12).map(sorted)


Kinds = tuple[list[int], list[int], list[int]]
kinds = st.tuples(ranks.map(lambda all: all[:3]), ranks, ranks.map(lambda all: all[:1]))


def named(place: int, kinds: Kinds) -> Line:
    """A line whose jobs no other line has."""
    return Line(
        *(
            [(rank, f"{kind}{place}.{n}") for n, rank in enumerate(each)]
            for kind, each in zip("prs", kinds, strict=True)
        )
    )


wants = st.builds(
    Want,
    queue=st.sampled_from("ab"),
    now=st.integers(0, 6),
    ahead=st.integers(0, 6),
    suspect=st.booleans(),
    lane=st.sampled_from(Lane),
)


@given(st.lists(st.tuples(wants, kinds), max_size=4), st.integers(0, 20))
def test_whatever_there_is_no_more_is_taken_than_was_wanted(
    given: list[tuple[Want, Kinds]], limit: int
) -> None:
    pairs = [(want, named(place, kinds)) for place, (want, kinds) in enumerate(given)]

    taken = choose([want for want, _ in pairs], [line for _, line in pairs], limit)

    assert len(taken) == len(set(taken)) <= limit
    assert sum(id.startswith("s") for id in taken) <= 1
    for lane in Lane:
        mine = [(want, line) for want, line in pairs if want.lane is lane]
        there = {id for _, line in mine for _, id in line.parked + line.ready + line.suspects}
        assert len(there & set(taken)) <= sum(want.now + want.ahead for want, _ in mine)


@given(wants, kinds, st.integers(1, 20))
def test_whatever_there_is_nobody_is_overtaken_by_a_later_rank(want: Want, kinds: Kinds, limit: int) -> None:
    line = named(0, kinds)

    taken = set(choose([want], [line], limit))

    free = [id for _, id in line.ready]

    assert [id in taken for id in free] == sorted((id in taken for id in free), reverse=True)
