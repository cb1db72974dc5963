"""How a connection is spoken over, whoever moves the bytes: requests become commands, answers become values or errors.

Each function here is a conversation: it yields commands that are sent together, and gets as many answers. The loop's
connection and the keeper's both have them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from hiredis import ReplyError, pack_command

from noria.backends.redis.call import Request, Word
from noria.backends.redis.faults import refused, replica
from noria.backends.redis.scripts import script
from noria.backends.redis.settings import Settings
from noria.clock import Clock
from noria.errors import ConfigError, Unavailable

Command = tuple[Word, ...]
Talk = Generator[list[Command], list[Any], Any]
Entropy = Callable[[], str]

_SETUP: Final = ("CLIENT", "SETNAME", "noria")


class Epoch:
    """Which life of a namespace this process knows: a server that came back without its data has begun another one.

    Args:
        fresh: gives a name for a new life.

    Attributes:
        restarts: how often the server was found to be another process than before, with the same life.
    """

    def __init__(self, fresh: Entropy) -> None:
        self._fresh = fresh
        self._run: str | None = None
        self.name: bytes | None = None
        self.restarts = 0

    def settle(self, settings: Settings) -> Talk:
        """Learn the name, or give one; says whether the life is another than the one that was known."""
        key = settings.key("epoch")
        kept, found, info = yield [("SET", key, self._fresh(), "NX"), ("GET", key), ("INFO", "server")]
        if isinstance(found, ReplyError):
            raise refused(found, settings.address)
        if isinstance(kept, ReplyError) and found is None:
            if str(kept).startswith("READONLY"):
                raise ConfigError(replica(settings.address))
            raise refused(kept, settings.address)
        if found is None:
            raise Unavailable(f"{settings.address.shown} did not keep the first thing that it was told")
        before, self.name = self.name, found
        last, self._run = self._run, _run_of(info)
        self.restarts += last not in (None, self._run)
        return before not in (None, found)


def greet(settings: Settings) -> Talk:
    """Begin a connection: who we are, which database, and whether the server serves.

    Raises:
        ConfigError: it will not, whoever asks and however often.
        Unavailable: it will not now.
    """
    address = settings.address
    commands: list[Command] = []
    if address.password:
        user = (address.username,) if address.username else ()
        commands.append(("AUTH", *user, address.password))
    if address.database:
        commands.append(("SELECT", address.database))
    commands += [_SETUP, ("PING",)]
    for answer in (yield commands):
        if isinstance(answer, ReplyError) and not str(answer).startswith("ERR unknown subcommand"):
            raise refused(answer, address)


def ask(requests: Sequence[Request], settings: Settings, epoch: Epoch, clock: Clock) -> Talk:
    """Ask all of these in one exchange; a script that the server does not know is sent again, whole."""
    now = b"" if settings.server_time else b"%d" % round(clock.wall() * 1000)
    head = (1, settings.address.prefix, epoch.name or b"", now)
    answers = yield [_call(request, head) for request in requests]
    unknown = [index for index, answer in enumerate(answers) if _is_unknown(answer)]
    if unknown:
        again = yield [_call(requests[index], head, whole=True) for index in unknown]
        for index, answer in zip(unknown, again, strict=True):
            answers[index] = answer
    return [
        refused(answer, settings.address) if isinstance(answer, ReplyError) else answer for answer in answers
    ]


def packed(commands: Sequence[Command]) -> bytes:
    """Commands as they are sent."""
    pack: Callable[[Any], bytes] = pack_command
    return b"".join(map(pack, commands))


def _call(request: Request, head: Command, *, whole: bool = False) -> Command:
    if not request.is_script:
        return (request.name, *request.words)
    text, digest = script(request.name)
    return ("EVAL" if whole else "EVALSHA", text if whole else digest, *head, *request.words)


def _run_of(info: Any) -> str | None:
    """The name that a server has drawn when it was started; None if it does not tell."""
    lines = info.decode().splitlines() if isinstance(info, bytes) else ()
    return next((line for line in lines if line.startswith("run_id:")), None)


def _is_unknown(answer: object) -> bool:
    return isinstance(answer, ReplyError) and str(answer).startswith("NOSCRIPT")
