"""The front as an ASGI application: one door, one table of routes, one shape of failure."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Final, Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from noria import ids
from noria.app.application import Noria
from noria.errors import NoriaError
from noria.front import fit, pages
from noria.front.asked import Asked
from noria.front.cors import let_read, preflight
from noria.front.desk import Desk
from noria.front.principal import EVERYBODY
from noria.front.problem import Problem, bug, problem_of
from noria.front.route import Ask, Route, Table
from noria.front.routes import ROUTES
from noria.front.settings import FrontSettings

log = logging.getLogger("noria.front")

_HEADERS: Final = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
"""On every answer that says nothing else."""


class Front:
    """The front door of an application. `async with front:` opens it; a server's lifespan does so by itself.

    Args:
        app: whose jobs.
        settings: checked.
    """

    def __init__(self, app: Noria, settings: FrontSettings) -> None:
        self._app = app
        self._settings = settings
        self._table = Table(each for each in ROUTES if each.role is None or each.role in settings.expose)
        self._desk: Desk | None = None

    # -- open and closed -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the application, if it is not open here, and begin to serve.

        Raises:
            ConfigError, Unavailable: as `async with app:`.
        """
        await self._app.__aenter__()
        self._desk = Desk(self._app, self._settings, self._table.routes)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Send everybody away, and close what was opened."""
        desk, self._desk = self._desk, None
        if desk is not None:
            await desk.close()
        await self._app.__aexit__(None, None, None)

    def drain(self) -> None:
        """Answer all who wait, say goodbye on every event stream, and let nobody wait any more.

        For whoever stops the server: before it starts to wait for requests to end.
        """
        if self._desk is not None:
            self._desk.drain()

    @property
    def desk(self) -> Desk:
        """What is open.

        Raises:
            Problem: nothing is.
        """
        if self._desk is None:
            raise Problem(
                "not_open",
                "this front is not open: use `async with front:` in the lifespan of the application",
            )
        return self._desk

    # -- ASGI ----------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live as long as the server."""
        match scope["type"]:
            case "http":
                response = await self._answer(Asked(scope, receive))
                await response(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.__aenter__()
        except NoriaError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, request: Asked) -> Response:
        try:
            response = preflight(request, self._settings.origins) or await self._respond(request)
        except Problem as problem:
            response = self._failed(problem, request)
        except NoriaError as error:
            response = self._failed(problem_of(error), request, error)
        except Exception as error:  # noqa: BLE001 - the last boundary before the client
            response = self._failed(bug(), request, error)
        response.headers.update(request.told)
        let_read(request, response, self._settings.origins)
        given = {name for name, _ in response.raw_headers}
        response.raw_headers += [header for header in _HEADERS if header[0] not in given]
        return response

    async def _respond(self, request: Asked) -> Response:
        if _path(request) == "/" and request.method in ("GET", "HEAD") and "docs" in self._settings.expose:
            return pages.home(_root(request))
        route, values = self._route(request)
        desk = self.desk
        who = await desk.door.enter(request, route)
        if who is not None:
            desk.note_use(who)
        fit.check(request, route)
        return await route.handler(Ask(desk, request, who or EVERYBODY, values))

    def _route(self, request: Asked) -> tuple[Route, dict[str, str]]:
        found = self._table.find(_path(request))
        if found is None:
            where = "; GET /openapi.json lists what there is" if "docs" in self._settings.expose else ""
            raise Problem("not_found", f"there is nothing at this path{where}")
        methods, values = found
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            allowed = ", ".join(sorted(methods))
            raise Problem("method_not_allowed", f"this path takes {allowed}", headers={"Allow": allowed})
        return route, values

    def _route_words(self, request: Asked) -> str:
        """The path as a log may have it: as the table writes it, without what the client wrote."""
        found = self._table.find(_path(request))
        return next(iter(found[0].values())).path if found else "an unknown path"

    def _failed(self, problem: Problem, request: Asked, cause: Exception | None = None) -> Response:
        instance = f"urn:uuid:{ids.to_text(self._app.home.ids.next())}"
        if problem.status >= 500 and problem.status != 502:
            log.error(
                "%s %s: %s (%s)",
                request.method, self._route_words(request), cause or problem, instance,
                exc_info=cause if problem.code == "internal" else None,
            )  # fmt: skip
        return problem.response(instance, _root(request))


def _root(request: Asked) -> str:
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")


def _path(request: Asked) -> str:
    """The path below the place where the front is mounted."""
    path: str = request.scope["path"]
    root = _root(request)
    return path[len(root) :] if root and path.startswith(root + "/") else path
