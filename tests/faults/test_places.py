"""The judge of places finds what is wrong in evidence that was made for it, and nothing in what is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from noria.testing.events import EndEnd, EndInvoke, Event, Fact, Fault, RunStart
from tests.faults.evidence import Evidence
from tests.faults.places import Places, most_in

Run = tuple[str, str, float, float | None]
"""A process, the number of a job in its line, and when its run began and ended; None if it never did."""
KILL = Fault(phase="begin", name="k", what="kill", target="one")
PAUSE = Fault(phase="begin", name="p", what="pause", target="one")
LOST = (EndInvoke(session=1), EndEnd(session=1, end="ok", ended=True))


def places(folder: Path, runs: Sequence[Run], *facts: tuple[float, Fact]) -> Places:
    """What the judge makes of these runs, all in one group; process "one" has session 1, any other session 2."""
    (folder / "places").mkdir()
    evidence = Evidence(folder)
    told = [(at, "", fact) for at, fact in facts]
    for number, (proc, n, begun, ended) in enumerate(runs):
        with (folder / "places" / f"{proc}.txt").open("a") as file:
            file.write(f"begin {begun!r} {number} 1 line/a {n}\n")
            if ended is not None:
                file.write(f"end {ended!r} {number} 1 line/a {n}\n")
        told.append((begun, proc, RunStart(id=str(number), session=1 if proc == "one" else 2, starts=1)))
    evidence.events = [Event(at, at, proc, seq, fact) for seq, (at, proc, fact) in enumerate(told)]
    return Places(folder, evidence)


def test_two_at_once_are_found(tmp_path: Path) -> None:
    found = places(tmp_path, [("one", "1", 1.0, 3.0), ("two", "2", 2.0, 4.0)])

    assert len(found.crowded("line", 1)) == 1
    assert found.crowded("line", 2) == []


def test_one_after_the_other_is_right(tmp_path: Path) -> None:
    found = places(tmp_path, [("one", "1", 1.0, 2.0), ("two", "2", 2.0, 4.0)])

    assert found.crowded("line", 1) == found.disordered("line") == found.unexplained() == []


def test_the_place_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    found = places(tmp_path, [("one", "1", 1.0, None), ("two", "2", 2.0, 4.0)], (1.5, KILL))

    assert found.crowded("line", 1) == []


def test_a_place_is_valid_until_somebody_ends_its_session(tmp_path: Path) -> None:
    runs: list[Run] = [("one", "1", 1.0, 5.0), ("two", "2", 2.0, 4.0)]
    late = [(2.5, LOST[0]), (2.6, LOST[1])]

    assert len(places(tmp_path, runs, (1.5, PAUSE), *late).crowded("line", 1)) == 1


def test_a_stopped_process_may_go_on_without_its_place(tmp_path: Path) -> None:
    runs: list[Run] = [("one", "1", 1.0, 5.0), ("two", "2", 2.0, 4.0)]
    early = [(1.8, LOST[0]), (1.9, LOST[1])]

    found = places(tmp_path, runs, (1.5, PAUSE), *early)

    assert found.crowded("line", 1) == found.unexplained() == []


def test_nobody_goes_on_without_a_place_and_without_a_pause(tmp_path: Path) -> None:
    found = places(tmp_path, [("one", "1", 1.0, 5.0)], (1.8, LOST[0]), (1.9, LOST[1]))

    assert len(found.unexplained()) == 1


def test_a_call_that_ended_no_session_frees_no_place(tmp_path: Path) -> None:
    runs: list[Run] = [("one", "1", 1.0, 5.0), ("two", "2", 2.0, 4.0)]
    vain = [(1.8, LOST[0]), (1.9, EndEnd(session=1, end="ok", ended=False))]

    assert len(places(tmp_path, runs, (1.5, PAUSE), *vain).crowded("line", 1)) == 1


def test_what_comes_before_its_turn_is_found(tmp_path: Path) -> None:
    found = places(tmp_path, [("one", "2", 1.0, 2.0), ("two", "1", 3.0, 4.0)])

    assert len(found.disordered("line")) == 1


@pytest.mark.parametrize(("times", "most"), [([], 0), ([0.0, 0.5, 1.0], 2), ([0.0, 0.5, 0.999], 3)])
def test_a_span_ends_before_its_end(times: list[float], most: int) -> None:
    assert most_in(times, 1.0) == most
