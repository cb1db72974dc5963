"""Pages of other origins: those that were allowed are answered as browsers ask (the Fetch standard's CORS protocol)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.responses import Response

from noria.front.asked import Asked

METHODS: Final = "GET, POST, PUT, PATCH, DELETE"
FIELDS: Final = "authorization, content-type, idempotency-key, prefer, last-event-id"
SEEN: Final = (
    "location, retry-after, preference-applied, idempotent-replayed, unique-conflict, noria-job, noria-change, "
    "noria-state, ratelimit, ratelimit-policy"
)
_AGE: Final = "600"
"""Seconds for which a browser may remember the answer."""


def preflight(request: Asked, origins: Collection[str]) -> Response | None:
    """The answer to a browser that asks whether a page may; None if this is no such question, or it may not."""
    if request.method != "OPTIONS" or "access-control-request-method" not in request.fields:
        return None
    if request.fields.get("origin") not in origins:
        return None
    headers = {
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": FIELDS,
        "Access-Control-Max-Age": _AGE,
    }
    return Response(status_code=204, headers=headers)


def let_read(request: Asked, response: Response, origins: Collection[str]) -> None:
    """Let the page that asked read the answer, if its origin was allowed. No cookies: keys are all there is."""
    if not origins:
        return
    response.headers["Vary"] = "Origin"
    origin = request.fields.get("origin")
    if origin is not None and origin in origins:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = SEEN
