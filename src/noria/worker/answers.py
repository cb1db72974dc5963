"""The key with which links to questions are made: one in each store, made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from noria.errors import Conflict
from noria.ids import Entropy
from noria.model.document import Doc, DocWrite, Version
from noria.model.invitation import KEY_SIZE, PATH, question_of, token_of

KIND: Final = "answer-key"
_NAME: Final = "1"
FRESH: Final = 60.0
"""Seconds for which the key that was read is believed: a store that came back without its data gets another one."""


class Board(Protocol):
    """The part of a backend that keeps the key."""

    async def read(self, kind: str, names: Sequence[str]) -> list[Doc | None]:
        """As `Board.read`."""
        ...

    async def write(self, docs: Sequence[DocWrite]) -> list[Version]:
        """As `Board.write`."""
        ...


class AnswerLinks:
    """Makes links by which persons answer questions, and tells which question a token is for.

    Args:
        board: where the key is kept.
        entropy: for a new key.
        monotonic: seconds, for the age of what was read.
        base: the address of a front, without a slash at its end; empty if none is known.
    """

    def __init__(
        self, board: Board, entropy: Entropy, monotonic: Callable[[], float], base: str = ""
    ) -> None:
        self._board = board
        self._entropy = entropy
        self._monotonic = monotonic
        self.base = base
        self._key: tuple[bytes, float] | None = None

    async def url(self, question: str, root: str = "") -> str:
        """The link to a question, by its id; only a path below `root` if no address is known.

        Raises:
            BackendError: the store does not answer.
        """
        return f"{self.base or root}{PATH}{token_of(await self._current(), question)}"

    async def question_of(self, token: str) -> str | None:
        """The id of the question that a token is for; None if it is none of this store.

        Raises:
            BackendError: the store does not answer.
        """
        return question_of(await self._current(), token)

    async def _current(self) -> bytes:
        now = self._monotonic()
        if self._key is None or now - self._key[1] >= FRESH:
            self._key = await self._read(), now
        return self._key[0]

    async def _read(self) -> bytes:
        while True:
            (doc,) = await self._board.read(KIND, [_NAME])
            if doc is not None:
                return doc.data
            key = self._entropy(KEY_SIZE)
            try:
                await self._board.write([DocWrite(KIND, _NAME, key, if_version=0)])
            except Conflict:
                continue  # somebody else made one
            return key
