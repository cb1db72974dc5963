"""What the engine can be asked: one class for each question, all of this form.

A call is a conversation: it yields what it has to ask of the server, gets the answers, and so on until it returns its
reply. It knows no sockets and no loops, so that the loop and the keeper's thread have it in the same words.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, ClassVar, NamedTuple

from noria.backends.redis.settings import Settings

Word = bytes | str | int
"""One argument on its way to the server."""


class Request(NamedTuple):
    """One thing to ask of the server: a script by its name, or a command, whose first word is its name."""

    name: str
    words: Sequence[Word]
    is_script: bool = True


def command(name: str, *words: Word) -> Request:
    """A request that needs no script."""
    return Request(name, words, is_script=False)


Steps = Generator[list[Request], list[Any], Any]
"""A conversation. What is yielded together is asked in one exchange; an answer that is an exception is thrown at the
place of the yield, unless the call sifts them itself."""


class Call:
    """One question to the engine."""

    writes: ClassVar[bool] = True
    """Whether it may change something, so that nobody knows whether it has, if its answer is lost."""

    sifts: ClassVar[bool] = False
    """Whether it is given answers that are exceptions, instead of having the first one thrown at it."""

    def steps(self, settings: Settings) -> Steps:
        """Begin the conversation."""
        raise NotImplementedError
