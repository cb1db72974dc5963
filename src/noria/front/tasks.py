"""The tasks that this front knows: the application's own, and those that workers have published on the board."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Raw

from noria.app.application import Noria
from noria.app.catalog import KIND, TaskSheet
from noria.app.plan import Plan
from noria.backends.contract import Board, Doc
from noria.clock import Clock
from noria.errors import InvalidArguments, InvalidName
from noria.front.bodies import check_depth
from noria.front.problem import Part, Problem, pointer_to
from noria.front.schema import Check, check_by
from noria.model.names import check_name

log = logging.getLogger("noria.front")

FRESH: Final = 5.0
"""Seconds for which what the board said is believed."""
_MISSING: Final = 1.0
_MOST_MISSING: Final = 1_000
_PAGE: Final = 500

_sheets: Final = msgspec.json.Decoder(TaskSheet)
_rows: Final = msgspec.json.Decoder(list[Raw])


@dataclass(frozen=True, slots=True)
class Known:
    """A task that can be enqueued here.

    Attributes:
        sheet: what its author says about it.
        plan: makes jobs that differ in nothing from its defaults.
        check: says what is wrong with arguments by name, as JSON.
        until: when the board must be asked again, on the monotonic clock; None for the application's own.
    """

    sheet: TaskSheet
    plan: Plan
    check: Check
    until: float | None = None

    def body_of(self, args: bytes) -> bytes:
        """Arguments as a job carries them, from an object (by name) or an array (by position).

        Raises:
            Problem: they do not fit the task.
        """
        check_depth(args)
        if args[:1] == b"[":
            args = self._named(args)
        wrong = list(self.check(args))
        if wrong:
            raise Problem(
                "invalid_args",
                f"the arguments do not fit task {self.sheet.name!r}: {wrong[0].message}",
                errors=[Part("/args" + each.pointer, each.message) for each in wrong],
            )
        return args

    def _named(self, args: bytes) -> bytes:
        values = _rows.decode(args)
        names = self.sheet.positional
        if len(values) > len(names):
            raise Problem(
                "invalid_args",
                f"task {self.sheet.name!r} takes {len(names)} arguments by position, not {len(values)}",
                errors=[Part(f"/args/{len(names)}", "is too many")],
            )
        return msgspec.json.encode(dict(zip(names, values, strict=False)))


class Tasks:
    """Finds tasks by name, and remembers for a few seconds what the board said.

    Args:
        app: its own tasks come first.
        board: where workers publish theirs.
    """

    def __init__(self, app: Noria, board: Board, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._own = {sheet.name: _own(app, sheet) for sheet in app.sheets()}
        self._published: dict[str, Known] = {}
        self._missing: dict[str, float] = {}
        self._listed = float("-inf")

    async def find(self, name: str) -> Known:
        """The task of this name.

        Raises:
            Problem: no application here and no worker has ever had one of this name.
        """
        found = await self.look(name)
        if found is None:
            raise Problem(
                "task_unknown",
                f"no task {name[:128]!r} is known here; has a worker ever started that has it?",
            )
        return found

    async def look(self, name: str) -> Known | None:
        """The task of this name; None if it is not known."""
        found = self._own.get(name) or self._published.get(name)
        now = self._clock.monotonic()
        if found is not None and (found.until is None or now < found.until):
            return found
        if found is None and (now < self._missing.get(name, now) or not _is_name(name)):
            return None
        [doc] = await self._board.read(KIND, [name])
        return self._learn(name, doc, now)

    async def all(self) -> list[Known]:
        """Every task that is known, by name."""
        now = self._clock.monotonic()
        if now >= self._listed + FRESH:
            await self._list(now)
        known = {**self._published, **self._own}
        return [known[name] for name in sorted(known)]

    async def _list(self, now: float) -> None:
        seen: set[str] = set()
        after: str | None = None
        while docs := await self._board.scan(KIND, after, _PAGE):
            for doc in docs:
                self._learn(doc.name, doc, now)
            seen.update(doc.name for doc in docs)
            after = docs[-1].name
        self._published = {name: known for name, known in self._published.items() if name in seen}
        self._listed = now

    def _learn(self, name: str, doc: Doc | None, now: float) -> Known | None:
        known = None if doc is None else _published(doc, now + FRESH)
        if known is not None:
            self._published[name] = known
            self._missing.pop(name, None)
            return known
        self._published.pop(name, None)
        self._missing[name] = now + _MISSING
        if len(self._missing) > _MOST_MISSING:
            del self._missing[next(iter(self._missing))]
        return None


def _is_name(text: str) -> bool:
    try:
        check_name("task", text)
    except InvalidName:
        return False
    return True


def _own(app: Noria, sheet: TaskSheet) -> Known:
    check = app.find_task(sheet.name).check_body
    return Known(sheet, Plan.of(sheet, {}), lambda body: _complaints(check, body))


def _complaints(check: Callable[[bytes], None], body: bytes) -> Iterator[Part]:
    try:
        check(body)
    except InvalidArguments as error:
        words = str(error).partition(": ")[2] or str(error)
        yield Part(pointer_to(error.field), words)


def _published(doc: Doc, until: float) -> Known | None:
    """What a document says; None if no version of this program wrote it."""
    try:
        sheet = _sheets.decode(doc.data)
        schema: dict[str, Any] = msgspec.json.decode(sheet.args_schema, type=dict[str, Any])
        return Known(sheet, Plan.of(sheet, {}), check_by(schema), until)
    except (msgspec.DecodeError, ValueError) as error:
        log.warning("what is published about task %s cannot be read: %s", doc.name, error)
        return None
