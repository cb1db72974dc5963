"""`/docs`: one small page that reads the OpenAPI document and needs nothing from anywhere else."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from starlette.responses import Response

from noria.front.route import Ask

_FILES: Final = {"docs.html": "text/html", "docs.css": "text/css", "docs.js": "text/javascript"}
"""Every file there is; a name that is not here is none."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def _file(name: str) -> Response:
    content = files("noria.front").joinpath("static", name).read_bytes()
    return Response(content, 200, {"Content-Security-Policy": _POLICY}, f"{_FILES[name]}; charset=utf-8")


def home(root: str) -> Response:
    """The answer at the top, where people come first: go to `/docs`."""
    return Response(status_code=307, headers={"Location": f"{root}/docs"})


async def docs(ask: Ask) -> Response:
    """`GET /docs`."""
    return _file("docs.html")


async def style(ask: Ask) -> Response:
    """`GET /docs/docs.css`."""
    return _file("docs.css")


async def script(ask: Ask) -> Response:
    """`GET /docs/docs.js`."""
    return _file("docs.js")
