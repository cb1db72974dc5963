"""Tables as text: aligned where there is room, one row below another where there is none.

Only the last column, a sentence, is ever cut. An id or a name that lacks its end is worth nothing, so a terminal that
is too narrow for the other columns gets each row as a few lines instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

_GAP: Final = 2
_READABLE: Final = 12
"""Columns that the last one must keep, if it needs them, for a table to be worth aligning."""


def render(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, colors: Mapping[str, str]
) -> Iterator[str]:
    """The lines of a table.

    Args:
        columns: their names; ">" before a name sets its column flush right.
        rows: a cell for each column.
        width: of the terminal; None if nothing bounds it.
        colors: cells that are painted, and how.
    """
    names = [name.lstrip(">") for name in columns]
    wanted = [max(map(_cells, column)) for column in zip(names, *rows, strict=True)]
    room = None if width is None else width - sum(wanted[:-1]) - _GAP * (len(names) - 1)
    if room is not None and room < min(wanted[-1], _READABLE):
        yield from _stacked(names, rows, colors)
        return
    widths = [*wanted[:-1], wanted[-1] if room is None else min(wanted[-1], room)]
    right = [name.startswith(">") for name in columns]
    yield click.style(_aligned(names, widths, right, {}), dim=True)
    for row in rows:
        yield _aligned(row, widths, right, colors)


def _aligned(
    cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], colors: Mapping[str, str]
) -> str:
    parts = []
    for cell, width, flush in zip(cells, widths, right, strict=True):
        text = _fitted(cell, width)
        pad = " " * (width - _cells(text))
        parts.append(pad + _painted(text, colors) if flush else _painted(text, colors) + pad)
    return (" " * _GAP).join(parts).rstrip()


def _stacked(names: Sequence[str], rows: Sequence[Sequence[str]], colors: Mapping[str, str]) -> Iterator[str]:
    widest = max(map(_cells, names))
    for row in rows:
        yield _painted(row[0], colors)
        for name, cell in zip(names[1:], row[1:], strict=True):
            if cell:
                yield f"  {name:<{widest}}  {_painted(cell, colors)}"


def _painted(text: str, colors: Mapping[str, str]) -> str:
    return click.style(text, fg=colors[text]) if text in colors else text


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _fitted(text: str, width: int) -> str:
    from rich.cells import set_cell_size

    return text if _cells(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
