"""Durations as people write them."""

from __future__ import annotations

import re
from typing import Final

from noria.errors import InvalidInput

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PIECE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d|w)")
_MOST: Final = 3_155_760_000.0


def read_seconds(text: str) -> float:
    """Read a duration: a number of seconds, or pieces with units such as "90s", "1h30m", "2d".

    Raises:
        InvalidInput: it is neither, or longer than 100 years.
    """
    pieces = list(_PIECE.finditer(text))
    if pieces and "".join(piece[0] for piece in pieces) == text:
        seconds = sum(float(piece["number"]) * _UNITS[piece["unit"]] for piece in pieces)
    elif re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        seconds = float(text)
    else:
        raise InvalidInput(
            f"{text!r:.40} is no duration; write seconds, or 90s, 5m, 2h, 1d, 1h30m", field="duration"
        )
    if seconds > _MOST:
        raise InvalidInput(f"{text!r:.40} is longer than 100 years", field="duration")
    return seconds
