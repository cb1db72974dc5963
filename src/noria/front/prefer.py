"""What a request prefers: how long to wait (RFC 7240), and which large parts of a job it wants."""

from __future__ import annotations

import math
import re
from typing import Final

from msgspec import Struct

from noria.backends.contract import Parts
from noria.front.asked import Asked
from noria.front.problem import Problem

_WAIT: Final = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9.]+)\"?\s*(?=$|[,;])", re.ASCII | re.IGNORECASE)
_ASYNC: Final = re.compile(r"(?:^|[,;])\s*respond-async\s*(?=$|[,;])", re.ASCII | re.IGNORECASE)
PARTS: Final = {"args": Parts.BODY, "result": Parts.RESULT, "attempts": Parts.LOG, "history": Parts.LOG}


class Patience(Struct, frozen=True):
    """How long a request waits, in seconds. `asked`: it said so."""

    seconds: float = 0.0
    asked: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """What is said about it in the answer."""
        return {"Preference-Applied": f"wait={self.seconds:g}"} if self.asked else {}


def patience(request: Asked, most: float, *, query: bool = True) -> Patience:
    """How long a request waits: `?wait=`, else `Prefer: wait=`, at most `most` seconds.

    Raises:
        Problem: `?wait=` is no number of seconds. A preference that cannot be read is none (RFC 7240 section 2).
    """
    text = request.query_params.get("wait") if query else None
    if text is not None:
        seconds = _number(text)
        if seconds is None:
            raise Problem("bad_request", "wait is a number of seconds, such as 10 or 0.5")
        return Patience(min(seconds, most), True)
    prefer = request.fields.get("prefer")
    if prefer is None:
        return Patience()
    found = _WAIT.search(prefer)
    seconds = _number(found[1]) if found else None
    return Patience() if seconds is None else Patience(min(seconds, most), True)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def included(request: Asked) -> Parts | None:
    """The parts of a job that `?include=` names; None if it is not there.

    Raises:
        Problem: there is no such part.
    """
    text = request.query_params.get("include")
    if text is None:
        return None
    parts = Parts.NONE
    for name in filter(None, text.split(",")):
        if name not in PARTS:
            raise Problem("bad_filter", f"include takes {', '.join(PARTS)}, not {name[:40]!r}")
        parts |= PARTS[name]
    return parts


def at_once(request: Asked) -> bool:
    """Whether a request says that it wants no wait; one that names its length too waits so long."""
    return _ASYNC.search(request.fields.get("prefer", "")) is not None
