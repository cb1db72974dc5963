"""What people wrote, made safe to show: control characters escaped, passwords of URLs hidden."""

from __future__ import annotations

import re
from typing import Final

_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CREDENTIALS: Final = re.compile(
    r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.\-]*://)(?!(?:USER)?:PASSWORD@[^@/?#\s'\"]*(?:[/?#\s'\"]|$))[^/?#\s'\"]*@"
)
"""What stands before the host, but for the words by which our own advice shows where to write them."""
_SECRET: Final = re.compile(r"(?P<name>[?&](?:password|passwd|pwd|secret|token|key)=)[^&#\s'\"]+", re.I)


def one_line(text: str) -> str:
    """The text with every line break and every character that a terminal would obey written as an escape."""
    return text if text.isprintable() else "".join(map(_shown, text))


def lines(text: str) -> str:
    """As `one_line`, but line breaks and tabs stay."""
    return "\n".join(one_line(line.expandtabs(4)) for line in text.split("\n"))


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    width, mark = (2, "x") if code < 0x100 else (4, "u") if code < 0x10000 else (8, "U")
    return _SHORT.get(char) or f"\\{mark}{code:0{width}x}"


def cut(text: str, width: int) -> str:
    """On one line, and no longer than `width`; an ellipsis shows that something is missing."""
    text = one_line(text)
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def without_secrets(text: str) -> str:
    """The text, with the user, password and secret parameters of every URL in it hidden."""
    return _SECRET.sub(r"\g<name>***", _CREDENTIALS.sub(r"\g<scheme>***@", text))
