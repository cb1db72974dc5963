"""Whether a request fits its route: it names no parameter that is not there, and takes what the route can give."""

from __future__ import annotations

import re
from typing import Final

from noria.app.options import nearest
from noria.front.asked import Asked
from noria.front.problem import MEDIA, Problem
from noria.front.route import Route

_NOTHING: Final = re.compile(r";\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)", re.ASCII | re.IGNORECASE)


def check(request: Asked, route: Route) -> None:
    """See that a request can be answered by a route.

    Raises:
        Problem: it names a parameter that the route does not have, or takes nothing that the route gives.
    """
    if request.scope["query_string"] and not route.open_query:
        _check_parameters(request, route)
    accept = request.fields.get("accept", "*/*")
    if accept not in ("*/*", "") and not any(_takes(part, route) for part in accept.split(",")):
        raise Problem(
            "not_acceptable", f"this is answered as {' or '.join(route.media)}, and failures as {MEDIA}"
        )


def _check_parameters(request: Asked, route: Route) -> None:
    known = [param.name for param in route.params if param.where == "query"]
    for name in request.query_params:
        if name not in known:
            hint = nearest(name, known) if known else "this path takes none"
            raise Problem("unknown_parameter", f"parameter {name!r:.60} is not known; {hint}")


def _takes(part: str, route: Route) -> bool:
    """Whether one range of an Accept field (RFC 9110 section 12.5.1) has something that the route gives."""
    wanted = part.partition(";")[0].strip().lower()
    if not wanted or _NOTHING.search(part):
        return False
    given = (*route.media, MEDIA)
    if wanted.endswith("/*"):
        return wanted == "*/*" or any(each.startswith(wanted[:-1]) for each in given)
    return wanted in given or "*/*" in given
