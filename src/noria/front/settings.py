"""What can be said about a front; every default is the closed one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypedDict

from noria.app.options import check_names
from noria.errors import InvalidOption, shown
from noria.front import limits
from noria.front.roles import ROLES

SHORTEST_KEY: Final = 16
_HOST: Final = re.compile(r"\*|\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]{1,253}", re.ASCII)
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9._\-\[\]:]{1,253}", re.ASCII)

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
"""The names by which a front on this machine may be called without a key; a page that was rebound has another."""


class FrontOptions(TypedDict, total=False):
    """The fields of `FrontSettings`, for editors."""

    api_key: str | None
    open: bool
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    expose: tuple[str, ...]
    require_idempotency: bool
    wait: float
    waiters: int
    waiters_per_key: int
    streams: int
    streams_per_key: int
    rate: float | None
    guesses: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontSettings:
    """Settings of one front.

    Attributes:
        api_key: a key that may do everything, of at least 16 characters; besides it, the keys in the store count.
        open: let requests without a key in, as long as there is no key at all. For loopback addresses, and behind
            an application that guards the door itself.
        hosts: the names by which it may be called, without port; "*" is any. Empty: while it is open, `localhost`,
            `127.0.0.1` and `[::1]`; else any.
        origins: pages of these origins, such as `https://example.com`, may call it from a browser.
        expose: its roles, of `jobs`, `answers`, `manage`, `metrics` and `docs`: it has no route of another. The probes
            and `GET /v1` are always there.
        require_idempotency: refuse to enqueue without an `Idempotency-Key`.
        wait: seconds for which a request may wait for a job, at most.
        waiters, waiters_per_key: requests that wait at once, at most: of all, and of one key in the store.
        streams, streams_per_key: event streams at once, at most: the same.
        rate: requests a second of one key, at most, if the key does not say; None: any number.
        guesses: keys that are not good, a second from one address, at most, with ten seconds' worth at once; None: any
            number. Behind a proxy all come from one address: who has a key that was good here before is let in.

    Raises:
        InvalidOption: a value has the wrong type or is out of range.
    """

    api_key: str | None = None
    open: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    expose: tuple[str, ...] = ROLES
    require_idempotency: bool = False
    wait: float = limits.WAIT
    waiters: int = limits.WAITERS
    waiters_per_key: int = limits.WAITERS_OF_KEY
    streams: int = limits.STREAMS
    streams_per_key: int = limits.STREAMS_OF_KEY
    rate: float | None = None
    guesses: float | None = limits.GUESSES

    def __post_init__(self) -> None:
        if self.api_key is not None and not _is_key(self.api_key):
            raise InvalidOption(
                f"api_key must be {SHORTEST_KEY} to 256 printable ASCII characters without spaces",
                field="api_key",
            )
        for name in ("open", "require_idempotency"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidOption(f"{name} must be True or False", field=name)
        for name in ("wait", "waiters", "waiters_per_key", "streams", "streams_per_key"):
            _check_number(name, getattr(self, name), 0)
        for name in ("rate", "guesses"):
            if getattr(self, name) is not None:
                _check_number(name, getattr(self, name), 0.001)
        _check_texts("hosts", self.hosts, _HOST, "host names without port")
        _check_texts("origins", self.origins, _ORIGIN, "origins such as https://example.com")

        _check_roles(self.expose)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> FrontSettings:
        """Settings from what a caller wrote.

        Raises:
            InvalidOption: as above, and for names that do not exist.
        """
        check_names("a front", given, [each.name for each in fields(cls)])
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        return cls(**values)


def _is_key(text: object) -> bool:
    return (
        isinstance(text, str)
        and SHORTEST_KEY <= len(text) <= 256
        and text.isascii()
        and text.isprintable()
        and " " not in text
    )


def _check_number(name: str, value: object, least: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= 1e9:  # type: ignore[operator]  # a number by now
        raise InvalidOption(f"{name} must be a number of at least {least:g}, not {shown(value)}", field=name)


def _check_texts(name: str, value: object, form: re.Pattern[str], what: str) -> None:
    texts = isinstance(value, tuple) and all(isinstance(each, str) and form.fullmatch(each) for each in value)
    if not texts:
        raise InvalidOption(f"{name} must be a tuple of {what}, not {shown(value)}", field=name)


def _check_roles(value: object) -> None:
    if not isinstance(value, tuple) or not value or not all(each in ROLES for each in value):
        raise InvalidOption(
            f"expose must be a tuple of one or more of {', '.join(ROLES)}, not {shown(value)}", field="expose"
        )
