"""Answers that are no failures."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

_encode: Final = msgspec.json.Encoder().encode


def json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(_encode(value), status, headers, "application/json")


def page(items: list[Any], next: str | None, **more: Any) -> Response:
    """One page of a list; `next` is the cursor of the page behind it."""
    return json({"items": items, "next": next, **more})


def nothing() -> Response:
    """Done, and there is nothing to say about it."""
    return Response(status_code=204)
