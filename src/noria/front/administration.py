"""Row 28: keys. A key is shown once, when it is made."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from noria.app import checks
from noria.clock import moment
from noria.errors import InvalidInput
from noria.front import bodies, limits, replies
from noria.front.keys import StoredKey
from noria.front.paging import cursor, limit_of, place
from noria.front.principal import Scope
from noria.front.problem import Part, Problem
from noria.front.route import Ask
from noria.front.times import point
from noria.model.names import check_name, check_text

_NAME: Final = 64
_MOST: Final = 1_000_000_000


class KeyWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """A key to make. `queues` and `tasks` are names, or beginnings of names with a star behind."""

    name: str
    scopes: list[Scope]
    queues: list[str] = []
    tasks: list[str] = []
    rate: float | None = None
    depth: int | None = None
    expires_at: datetime | None = None


_wanted: Final = msgspec.json.Decoder(KeyWanted)


async def create(ask: Ask) -> Response:
    """`POST /v1/keys`."""
    wanted = await bodies.read_struct(ask.request, _wanted)
    key, token = await ask.desk.keys.make(_checked(wanted, ask.desk.clock.wall()))
    headers = {"Location": f"{ask.root}/v1/keys/{key.id}"}
    return replies.json({**key_view(key, None), "key": token}, 201, headers)


async def show(ask: Ask) -> Response:
    """`GET /v1/keys`."""
    params = ask.request.query_params
    limit = limit_of(params.get("limit"), limits.PAGE, limits.USUAL_PAGE)
    after = place(params.get("cursor"), "keys", None)
    found = await ask.desk.keys.all(None if after is None else after.decode(errors="replace"), limit)
    following = cursor(found[-1][0].id.encode(), "keys") if len(found) == limit else None
    return replies.page([key_view(key, used) for key, used in found], following)


async def revoke(ask: Ask) -> Response:
    """`DELETE /v1/keys/{id}`."""
    if not await ask.desk.keys.revoke(ask.path["id"][:64]):
        raise Problem("key_unknown", "there is no such key")
    return replies.nothing()


def key_view(key: StoredKey, used: float | None) -> dict[str, Any]:
    """A key as it is shown; neither its text nor its hash."""
    return {
        "id": key.id,
        "prefix": f"nor_{key.id}_",
        "name": key.name,
        "scopes": key.scopes,
        "queues": key.queues,
        "tasks": key.tasks,
        "rate": key.rate,
        "depth": key.depth,
        "created_at": moment(key.created),
        "expires_at": moment(key.expires),
        "last_used_at": moment(used),
    }


def _checked(wanted: KeyWanted, now: float) -> StoredKey:
    field = "name"
    try:
        check_text("name", wanted.name, _NAME)
        for field in ("queues", "tasks"):
            _check_patterns(field, getattr(wanted, field))
        field = "expires_at"
        expires = None if wanted.expires_at is None else point(field, wanted.expires_at, after=now)
        field = "rate"
        if wanted.rate is not None and not 0.001 <= wanted.rate <= _MOST:
            raise InvalidInput(f"rate is from 0.001 to {_MOST:,} requests a second", field=field)
        field = "depth"
        depth = None if wanted.depth is None else checks.whole(1, _MOST)(field, wanted.depth)
        field = "scopes"
        if not wanted.scopes:
            raise InvalidInput("scopes names at least one", field=field)
        if "admin" in wanted.scopes and (wanted.queues or wanted.tasks):
            raise InvalidInput("a key that may do everything, keys included, cannot be limited", field=field)
    except InvalidInput as error:
        raise Problem("invalid_value", str(error), errors=[Part(f"/{field}", str(error))]) from None
    return StoredKey(
        id="", hash="", name=wanted.name, scopes=tuple(dict.fromkeys(wanted.scopes)), queues=tuple(wanted.queues),
        tasks=tuple(wanted.tasks), rate=wanted.rate, depth=depth, created=now, expires=expires,
    )  # fmt: skip


def _check_patterns(field: str, patterns: list[str]) -> None:
    if len(patterns) > limits.KEY_PATTERNS:
        raise InvalidInput(f"{field} has at most {limits.KEY_PATTERNS} patterns", field=field)
    for pattern in patterns:
        if pattern != "*":
            check_name(field.removesuffix("s"), pattern.removesuffix("*"))
