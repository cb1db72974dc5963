"""What commands say: data on stdout, notes and progress on stderr, colour only where it is wanted."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TextIO

import click
import msgspec
from msgspec import Raw

from noria.cli import tables
from noria.cli.escape import lines, without_secrets
from noria.cli.flags import Flags

_UNSEEN: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_STYLES: Final = {
    "succeeded": "green", "failed": "red", "expired": "red", "cancelled": "yellow", "running": "cyan",
    "retrying": "yellow", "parked": "yellow", "ok": "green", "warning": "yellow",
}  # fmt: skip

Advance = Callable[[int], None]
"""Tells a progress bar that this many more are done."""


class Output:
    """The two streams of a command."""

    def __init__(self, flags: Flags) -> None:
        self.json = flags.json
        self._quiet = flags.quiet
        self._out_color = wants_color(flags.color, sys.stdout)
        self._err_color = wants_color(flags.color, sys.stderr)

    def line(self, text: str = "") -> None:
        """One line, or a few, for people, on stdout; the caller has escaped what users wrote."""
        click.echo(text, color=self._out_color)

    def record(self, value: Any) -> None:
        """One JSON text on one line of stdout."""
        click.echo(to_json(value), color=False)

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr."""
        if not self._quiet:
            click.echo(lines(without_secrets(text)), err=True, color=self._err_color)

    def warn(self, text: str) -> None:
        """Something worth knowing even if nobody wants notes, on stderr."""
        mark = click.style("warning:", fg="yellow")
        click.echo(f"{mark} {lines(without_secrets(text))}", err=True, color=self._err_color)

    @property
    def width(self) -> int | None:
        """Columns of the terminal that stdout is; None if it is none, so that nothing need be cut or wrapped."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def listing(
        self, found: Sequence[Raw], columns: Sequence[str], row: Callable[[Raw], Sequence[str]]
    ) -> None:
        """What a peer has told, as JSON Lines or as a table; nothing if nothing was found."""
        if self.json:
            for each in found:
                self.record(each)
        elif found:
            self.table(columns, map(row, found))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Aligned columns, or a few lines for each row where a terminal has no room for them; see `tables`."""
        painted = {text: color for text, color in _STYLES.items() if self._out_color}
        for text in tables.render(columns, list(rows), self.width, painted):
            self.line(text)

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator[Advance]:
        """A bar on stderr while the block runs, if stderr is a terminal; nothing otherwise."""
        if self._quiet or not sys.stderr.isatty():
            yield lambda count: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, no_color=not self._err_color)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda count: bar.advance(task, count)

    def paint(self, text: str, word: str) -> str:
        """The text with its first `word`, a state or mark, in its colour, if anybody wants colour."""
        color = _STYLES.get(word) if self._out_color else None
        return text.replace(word, click.style(word, fg=color), 1) if color else text


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether a stream gets colour: as chosen; else on terminals, unless NO_COLOR is set."""
    if choice != "auto":
        return choice == "always"
    dumb = os.environ.get("TERM") == "dumb"
    return stream.isatty() and not os.environ.get("NO_COLOR") and not dumb


def to_json(value: Any) -> str:
    """JSON on one line, in which every character that a terminal could obey is written as an escape."""
    text = msgspec.json.encode(value).decode()
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
