"""What a route is: how it is called, who may call it, and what answers. One table of them is the whole front."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from starlette.responses import Response

from noria.front.asked import Asked
from noria.front.principal import Principal, Scope
from noria.front.roles import Role

if TYPE_CHECKING:
    from noria.front.desk import Desk


@dataclass(slots=True)
class Ask:
    """One request, past the door.

    Attributes:
        desk: what answers it.
        request: as it came.
        who: whoever asks.
        path: the values in the path, by name.
    """

    desk: Desk
    request: Asked
    who: Principal
    path: dict[str, str]

    @property
    def root(self) -> str:
        """The path under which the front is mounted; empty at the top."""
        found: str = self.request.scope.get("root_path", "")
        return found.rstrip("/")


Handler = Callable[[Ask], Awaitable[Response]]
Where = Literal["query", "header"]


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a route. `schema` is JSON schema."""

    name: str
    about: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})
    where: Where = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method on one path.

    Attributes:
        method, path: `{name}` in the path stands for one segment.
        role: fronts with this role have it; None for what every front has.
        scope: what a key must have to call it; None for what everybody may see.
        handler: answers it.
        about: one line for the documentation.
        body: the type of the body, if it takes one.
        gives: the type of the body of a success, if that can be said.
        params: what else it takes.
        open_query: its query holds what it will, arguments or what a mail program has put behind a link.
        link: its path holds what lets in, a secret that no page of another origin has; so it matters not who sends it.
        media: in which forms it answers; `*/*` is any.
        success: status codes of success, with their meaning.
        problems: codes of failure that are its own.
    """

    method: str
    path: str
    role: Role | None
    scope: Scope | None
    handler: Handler
    about: str
    body: Any = None
    gives: Any = None
    params: tuple[Param, ...] = ()
    open_query: bool = False
    link: bool = False
    media: tuple[str, ...] = ("application/json",)
    success: dict[int, str]
    problems: tuple[str, ...] = ()


Methods = dict[str, Route]


class Table:
    """Finds the route of a path without trying one after the other."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._fixed: dict[str, tuple[Methods, dict[str, str]]] = {}
        self._open: dict[int, dict[tuple[str, ...], Methods]] = {}
        for route in self.routes:
            steps = tuple(route.path.split("/"))
            if "{" in route.path:
                methods = self._open.setdefault(len(steps), {}).setdefault(steps, {})
            else:
                methods, _ = self._fixed.setdefault(route.path, ({}, {}))
            methods[route.method] = route
        for path, (methods, values) in self._fixed.items():
            # A timer may be called as a verb is; what the path itself has comes first.
            also, found = self._opened(path) or ({}, {})
            if "name" in found:
                values.update(found)
                methods.update({**also, **methods})

    def find(self, path: str) -> tuple[Methods, dict[str, str]] | None:
        """The methods of a path, and the values in it; None if there is no such path."""
        fixed = self._fixed.get(path)
        if fixed is not None:
            return fixed
        return self._opened(path)

    def _opened(self, path: str) -> tuple[Methods, dict[str, str]] | None:
        steps = path.split("/")
        for pattern, methods in self._open.get(len(steps), {}).items():
            values = _match(pattern, steps)
            if values is not None:
                return methods, values
        return None


def _match(pattern: tuple[str, ...], steps: list[str]) -> dict[str, str] | None:
    values = {}
    for wanted, step in zip(pattern, steps, strict=True):
        if wanted[:1] == "{" and step:
            values[wanted[1:-1]] = step
        elif wanted != step:
            return None
    return values
