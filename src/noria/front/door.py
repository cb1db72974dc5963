"""The door: by which name the front is called, from which page, by whom, how often, and whether they may."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from noria.clock import Clock
from noria.front.asked import Asked
from noria.front.keys import LOOK, KeyRing
from noria.front.principal import EVERYBODY, Principal
from noria.front.problem import Problem
from noria.front.rates import Buckets, Rate, Stand, neighbourhood
from noria.front.route import Route
from noria.front.settings import LOOPBACK, FrontSettings

_BURST: Final = 1.0
"""Seconds of its rate that a key may use up at once."""
_GUESSES: Final = 10.0
"""Seconds of its rate of guesses that an address may use up at once."""
_ANSWERS: Final = Rate(1.0, 20.0)
"""How often one question is answered by its link: a person who types does not come near."""
_OURS: Final = ("none", "same-origin")
_HOW: Final = "send Authorization: Bearer KEY; make a key with POST /v1/keys, or set NORIA_API_KEY"


class Door:
    """Decides who gets in.

    Args:
        settings: of the front.
        keys: the keys there are.
    """

    def __init__(self, settings: FrontSettings, keys: KeyRing, clock: Clock) -> None:
        self._settings = settings
        self._keys = keys
        self._rates = Buckets(clock)
        self._guesses = Buckets(clock)
        self._answers = Buckets(clock)

    async def enter(self, request: Asked, route: Route) -> Principal | None:
        """Whoever asks, if they may call this route; None where it does not matter who they are.

        Raises:
            Problem: they may not.
        """
        headers = request.fields
        if not route.link:
            self._check_origin(headers)
        if route.scope is None:
            return None
        who = await self._who(request)
        if who is EVERYBODY or self._settings.hosts:
            self._check_host(headers)
        if not who.may(route.scope):
            raise Problem(
                "scope_missing",
                f"the key lacks the scope {route.scope!r}, which this needs",
                scope=route.scope,
            )
        self._count(who, request)
        return who

    async def still(self, who: Principal) -> bool:
        """Whether somebody who was let in would be let in now; for requests that go on.

        Raises:
            BackendError: that could not be looked up.
        """
        if who is EVERYBODY:
            return not await self._keys.any(LOOK)
        return await self._keys.good(who)

    def count_guess(self, request: Asked) -> None:
        """Count a link that is none, as a key that is none. Whoever has a good one is let in all the same.

        Raises:
            Problem: too many came from this address.
        """
        second = self._settings.guesses
        if second is None:
            return
        stand = self._guess(request, second)
        if not stand.taken:
            raise _slow("too many links that are none came from this address", stand)

    def count_answer(self, question: str) -> None:
        """Count an answer that came by a link.

        Raises:
            Problem: too many came to this question.
        """
        stand = self._answers.take(question, _ANSWERS)
        if not stand.taken:
            raise _slow("this question gets too many answers", stand)

    def _guess(self, request: Asked, second: float) -> Stand:
        return self._guesses.take(_address(request), Rate(second, max(1.0, second * _GUESSES)))

    def _count(self, who: Principal, request: Asked) -> None:
        """Count a request against the rate of its key, if it has one; the answer tells how that stands.

        Raises:
            Problem: the key has used up its rate.
        """
        rate = who.rate if who.rate is not None else self._settings.rate
        if rate is None:
            return
        stand = self._rates.take(who.id, Rate(rate, max(1.0, rate * _BURST)))
        request.told.update(stand.fields)
        if not stand.taken:
            raise _slow(f"this key may ask {rate:g} times a second", stand)

    async def _holder(self, token: str, request: Asked) -> Principal:
        """Whoever holds a key. Those that are not known are counted before they are looked up, by address.

        Raises:
            Problem: the key is no good, or too many came from this address that were not.
        """
        second = self._settings.guesses
        if second is None or self._keys.knows(token):
            return await self._keys.holder(token)
        stand = self._guess(request, second)
        if not stand.taken:
            raise _slow("too many keys that are not good came from this address", stand)
        found = await self._keys.holder(token)
        self._guesses.give_back(_address(request))
        return found

    async def _who(self, request: Asked) -> Principal:
        given = request.fields.get("authorization")
        if given is not None:
            scheme, _, token = given.partition(" ")
            if scheme.lower() != "bearer":
                raise Problem("bad_key", _HOW, headers={"WWW-Authenticate": "Bearer"})
            return await self._holder(token.strip(), request)
        if self._settings.open and not await self._keys.any():
            return EVERYBODY
        raise Problem("no_key", f"this front asks for a key: {_HOW}", headers={"WWW-Authenticate": "Bearer"})

    def _check_host(self, headers: Mapping[str, str]) -> None:
        """A page that had its own name rebound to this address would still call it by that name."""
        allowed = self._settings.hosts or LOOPBACK
        host = headers.get("host", "")
        name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
        if "*" not in allowed and name.lower() not in allowed:
            raise Problem(
                "host_not_allowed", "this front is not called by that name; add it to `hosts` if it should be"
            )

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Browsers say from where a page calls; nobody else sends these headers."""
        origin = headers.get("origin")
        if origin is not None:
            if origin in self._settings.origins or origin.partition("://")[2] == headers.get("host"):
                return
        elif headers.get("sec-fetch-site", "none") in _OURS or headers.get("sec-fetch-mode") == "navigate":
            return
        raise Problem(
            "cross_origin",
            "pages of other origins may not call this front; add theirs to `origins` if they should",
        )


def _address(request: Asked) -> str:
    return neighbourhood(request.client.host if request.client else "")


def _slow(why: str, stand: Stand) -> Problem:
    return Problem(
        "rate_limited", f"{why}; wait {stand.wait:.3f} s", retry_after=max(1, math.ceil(stand.wait))
    )
