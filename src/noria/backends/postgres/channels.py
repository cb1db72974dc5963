"""How hints travel through PostgreSQL: on which of its channels, and in which form.

A channel of Noria's is not one of PostgreSQL's: those are names that a connection must list beforehand. A namespace has
one for work (queues and sessions), one for each process that waits for outcomes, and one for everything else.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from noria.backends.bus import Note
from noria.backends.contract import Channel
from noria.backends.sql.rows import encode

LARGEST: Final = 7_900
"""Bytes that a notification can carry, and some to spare."""

Notice = tuple[str, str]
"""A channel of PostgreSQL, and what is sent on it."""


def wire_channel(namespace: str, channel: Channel) -> str:
    """The channel of PostgreSQL that carries one of ours."""
    kind, _, rest = channel.partition(":")
    if kind in ("queue", "session"):
        return f"{namespace}.work"
    if kind == "reply" and len(rest) == 16 and rest.isalnum() and rest.isascii():
        return f"{namespace}.{rest}"
    return f"{namespace}.other"


def pack(namespace: str, sender: str, notes: Iterable[Note]) -> str:
    """Hints as `notify.sql` takes them; one that is too large, or has no text, is lost."""
    rows: list[Notice] = []
    for channel, payload in notes:
        text = _write(sender, channel, payload)
        if len(text) <= LARGEST and len(text.encode("utf-8", "replace")) <= LARGEST and "\0" not in text:
            rows.append((wire_channel(namespace, channel), text))
    return encode(rows) if rows else ""


def unpack(text: str) -> tuple[str, Note] | None:
    """Who sent a hint, and the hint; None if it is none of ours."""
    head, _, rest = text.partition(" ")
    form, _, length = head.partition(",")
    if not length.isdecimal() or len(form) < 2:
        return None
    channel, payload = rest[: int(length)], rest[int(length) :]
    try:
        return form[1:], (channel, payload.encode() if form[0] == "t" else base64.b64decode(payload))
    except ValueError:
        return None


def _write(sender: str, channel: Channel, payload: bytes) -> str:
    """As text where it is text, since most of it is JSON; else in Base64."""
    try:
        form, text = "t", payload.decode()
    except UnicodeDecodeError:
        form, text = "b", base64.b64encode(payload).decode()
    if "\0" in text:
        form, text = "b", base64.b64encode(payload).decode()
    return f"{form}{sender},{len(channel)} {channel}{text}"
