"""How deep a JSON text is nested, found without parsing it."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

# Matches from every quote on, without ever going back: a string that does not end runs to the end of the text.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


def deeper_than(text: bytes, limit: int) -> bool:
    """Whether lists and objects are nested deeper than `limit` in a JSON text.

    A parser that recurses would find out too late. Text that is no JSON gets an answer too: never a smaller
    depth than a parser could reach before it gives up.
    """
    if len(text) <= limit or text.count(b"[") + text.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", text).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0) > limit
