"""A table fits its terminal without costing anybody the end of an id."""

from __future__ import annotations

import pytest

from noria.cli import jobview
from noria.cli.tables import render

HEADER = ("id", "state", ">attempts", "error")
ROWS = [
    ("0c0d0e0f", "failed", "2/2", "OSError: no route to host 10.0.0.7"),
    ("1c1d1e1f", "queued", "0/5", ""),
]


def shown(width: int | None) -> list[str]:
    return list(render(HEADER, ROWS, width, {}))[1:]


def test_nothing_is_cut_where_nothing_bounds_it() -> None:
    assert shown(None) == [
        "0c0d0e0f  failed       2/2  OSError: no route to host 10.0.0.7",
        "1c1d1e1f  queued       0/5",
    ]


def test_the_last_column_is_cut_first_and_says_so() -> None:
    assert shown(44)[0] == "0c0d0e0f  failed       2/2  OSError: no rou…"


def test_without_room_for_the_last_column_each_row_is_a_few_lines() -> None:
    assert list(render(HEADER, ROWS, 39, {})) == [
        "0c0d0e0f",
        "  state     failed",
        "  attempts  2/2",
        "  error     OSError: no route to host 10.0.0.7",
        "1c1d1e1f",
        "  state     queued",
        "  attempts  0/5",
    ]


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 100])
def test_an_id_is_whole_at_every_width(width: int) -> None:
    row = ("0c0d0e0f", "failed (dead)", "shop.tasks.send", "1m 40s ago", "2/2", "OSError: " + "x" * 60)
    lines = list(render(jobview.COLUMNS, [row], width, {}))

    assert all(any(cell in line for line in lines) for cell in row[:-1]), lines


def test_wide_characters_count_twice() -> None:
    lines = list(render(("task", "error"), [("発送", "x" * 40), ("send", "y")], 24, {}))

    assert lines[1] == "発送  " + "x" * 17 + "…"


def test_words_with_a_colour_are_painted_and_still_aligned() -> None:
    assert list(render(HEADER, ROWS, None, {"failed": "red"}))[1].startswith(
        "0c0d0e0f  \x1b[31mfailed\x1b[0m       2/2"
    )
