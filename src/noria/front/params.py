"""Parameters that several routes have."""

from __future__ import annotations

from typing import Final

from noria.front import limits
from noria.front.prefer import PARTS
from noria.front.route import Param

WAIT: Final = Param("wait", "seconds to wait until the job has ended", {"type": "number", "minimum": 0})
PREFER: Final = Param(
    "Prefer", "`wait=SECONDS` as ?wait=, or `respond-async` (RFC 7240)", {"type": "string"}, "header"
)
KEY: Final = Param(
    "Idempotency-Key",
    "the same key with the same request is the same job, for 24 hours",
    {"type": "string", "minLength": 1, "maxLength": limits.IDEMPOTENCY_KEY},
    "header",
)
INCLUDE: Final = Param("include", f"comma list of {', '.join(PARTS)}")
CURSOR: Final = Param("cursor", "`next` of the page before")


def limit(most: int) -> Param:
    """How long a page is to be."""
    return Param("limit", "items on a page", {"type": "integer", "minimum": 1, "maximum": most})
