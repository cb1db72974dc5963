"""API keys: made once, shown once, stored as hashes, and found again in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b32encode
from typing import Final

import msgspec
from msgspec import Struct

from noria.backends.contract import Board, Doc, DocWrite
from noria.clock import Clock
from noria.errors import Conflict
from noria.front import limits
from noria.front.principal import MASTER, Principal
from noria.front.problem import Problem
from noria.ids import Entropy

KIND: Final = "key"
_USED: Final = "key-used"
_REVOKED: Final = "key-revoked"
FRESH: Final = 5.0
"""Seconds for which a key that was looked up is believed; a revoked key is good for so long at most."""
LOOK: Final = 2.0
"""Seconds between looks whether the key of a request that goes on is still good; twice this is less than `FRESH`."""
USE_EVERY: Final = 60.0
"""Seconds between two notes of the last use of a key."""
_MOST: Final = 10_000
_FORM: Final = re.compile(r"nor_([a-z2-7]{8})_[a-z2-7]{32}", re.ASCII)
_NOBODY: Final = "0" * 64


class StoredKey(Struct, frozen=True, kw_only=True):
    """A key as the store has it. Nothing in it is secret: its hash is of 160 random bits.

    Attributes:
        id: its public part.
        hash: SHA-256 of the whole key, in hex.
        name: for people.
        scopes, queues, tasks, rate, depth: as in `Principal`.
        created, expires: seconds since the epoch.
    """

    id: str
    hash: str
    name: str
    scopes: tuple[str, ...]
    queues: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    rate: float | None = None
    depth: int | None = None
    created: float
    expires: float | None = None

    def principal(self) -> Principal:
        """Whoever holds it."""
        return Principal(
            self.id, frozenset(self.scopes), self.queues, self.tasks, self.rate, self.depth, stored=True
        )


_stored: Final = msgspec.json.Decoder(StoredKey)


class KeyRing:
    """Knows the keys of a front.

    Args:
        board: where keys are stored.
        master: the front's own key, if it has one.
        entropy: for new keys.
    """

    def __init__(self, board: Board, master: str | None, clock: Clock, entropy: Entropy) -> None:
        self._board = board
        self._clock = clock
        self._entropy = entropy
        self._master = None if master is None else _digest(master)
        self._known: dict[str, tuple[StoredKey | None, float]] = {}
        self._used: dict[str, float] = {}
        self._some: tuple[bool, float] = (False, float("-inf"))

    async def any(self, within: float = FRESH) -> bool:
        """Whether there is a key at all; then nobody gets in without one. `within`: as `_find`."""
        if self._master is not None:
            return True
        some, until = self._some
        now = self._clock.monotonic()
        if not some and now >= until - FRESH + within:
            self._some = some, _ = bool(await self._board.scan(KIND, None, 1)), now + FRESH
        return some

    def knows(self, token: str) -> bool:
        """Whether a key was seen here before and was good; it may be so no more."""
        digest = _digest(token)
        form = _FORM.fullmatch(token)
        key = self._known.get(form[1], (None, 0.0))[0] if form else None
        stored = hmac.compare_digest(digest, key.hash if key is not None else _NOBODY)
        return hmac.compare_digest(digest, self._master or _NOBODY) or stored

    async def holder(self, token: str) -> Principal:
        """Whoever holds a key.

        Raises:
            Problem: it is not known, or no longer good; which of these is not told.
        """
        digest = _digest(token)
        if self._master is not None and hmac.compare_digest(digest, self._master):
            return MASTER
        form = _FORM.fullmatch(token)
        key = await self._find(form[1]) if form else None
        same = hmac.compare_digest(digest, key.hash if key is not None else _NOBODY)
        if key is None or not same or self._over(key):
            raise Problem(
                "bad_key",
                "the key is not known, was revoked or has expired",
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        return key.principal()

    async def good(self, who: Principal) -> bool:
        """Whether the key of somebody who was let in is still good: neither revoked nor expired.

        Raises:
            BackendError: it could not be looked up.
        """
        if not who.stored:
            return True
        key = await self._find(who.id, LOOK)
        return key is not None and not self._over(key)

    def _over(self, key: StoredKey) -> bool:
        return key.expires is not None and self._clock.wall() >= key.expires

    async def _find(self, id: str, within: float = FRESH) -> StoredKey | None:
        """A key as the store has had it within so many seconds."""
        now = self._clock.monotonic()
        key, until = self._known.get(id, (None, float("-inf")))
        if now < until - FRESH + within:
            return key
        [doc] = await self._board.read(KIND, [id])
        key = None if doc is None else read_key(doc)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[id] = (key, now + FRESH)
        return key

    def due(self, who: Principal) -> bool:
        """Whether the use of a key should be noted again; asked once, it is taken as done."""
        now = self._clock.monotonic()
        if not who.stored or now < self._used.get(who.id, float("-inf")) + USE_EVERY:
            return False
        self._used[who.id] = now
        return True

    async def note(self, who: Principal) -> None:
        """Write down that a key was used now."""
        await self._board.write([DocWrite(_USED, who.id, repr(self._clock.wall()).encode())])

    # -- administration ------------------------------------------------------------------------------------

    async def make(self, wanted: StoredKey) -> tuple[StoredKey, str]:
        """Store a new key.

        Args:
            wanted: everything but its id and hash.

        Returns:
            the key as stored, and its text, which nobody will ever see again.
        """
        while True:
            public, secret = _text(self._entropy(5)), _text(self._entropy(20))
            token = f"nor_{public}_{secret}"
            key = msgspec.structs.replace(wanted, id=public, hash=_digest(token))
            try:
                await self._board.write([DocWrite(KIND, public, msgspec.json.encode(key), if_version=0)])
            except Conflict:
                continue  # another key has this public part
            self._known.pop(public, None)
            self._some = (True, 0.0)
            return key, token

    async def all(self, after: str | None, limit: int) -> list[tuple[StoredKey, float | None]]:
        """Keys by id, each with the time of its last use as far as that is known."""
        docs = await self._board.scan(KIND, after, limit)
        keys = [key for doc in docs if (key := read_key(doc)) is not None]
        uses = await self._board.read(_USED, [key.id for key in keys])
        return [(key, _time(use)) for key, use in zip(keys, uses, strict=True)]

    async def revoke(self, id: str) -> bool:
        """Delete a key; False if there was none, in the last 24 hours either: a repeat is answered as the first time.

        Other fronts believe it for `FRESH` seconds more.
        """
        [doc], [before] = await self._board.read(KIND, [id]), await self._board.read(_REVOKED, [id])
        self._known.pop(id, None)
        if doc is None:
            return before is not None
        trace = DocWrite(_REVOKED, id, b"", ttl=limits.REMEMBERED)
        await self._board.write([DocWrite(KIND, id, None), DocWrite(_USED, id, None), trace])
        return True


def read_key(doc: Doc) -> StoredKey | None:
    """The key in a document; None if no version of this program wrote it."""
    try:
        return _stored.decode(doc.data)
    except msgspec.DecodeError:
        return None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _text(noise: bytes) -> str:
    return b32encode(noise).decode().lower()


def _time(doc: Doc | None) -> float | None:
    return None if doc is None else float(doc.data)
