"""Whether a front lives, whether it can serve, and what it is. The first two tell nothing else."""

from __future__ import annotations

from importlib import metadata
from typing import Final

from starlette.responses import Response

from noria import aio
from noria.clock import moment
from noria.errors import BackendError
from noria.front import limits, replies
from noria.front.problem import Problem
from noria.front.roles import ROLES
from noria.front.route import Ask

_PATIENCE: Final = 2.0


async def alive(ask: Ask) -> Response:
    """`GET /livez`: the process turns."""
    return replies.json({"status": "alive"})


async def ready(ask: Ask) -> Response:
    """`GET /readyz`: the backend answers, and the front is not stopping."""
    if ask.desk.waiting.draining:
        raise Problem("draining", "this front is stopping", retry_after=1)
    try:
        async with aio.bounded(_PATIENCE):
            await ask.desk.backend.read("ready", ["ready"])
    except (BackendError, TimeoutError):
        raise Problem("backend_down", "the backend does not answer", retry_after=1) from None
    return replies.json({"status": "ready"})


async def about(ask: Ask) -> Response:
    """`GET /v1`: what this front is, can, and allows."""
    able = ask.desk.backend.capabilities
    settings = ask.desk.settings
    return replies.json(
        {
            "version": metadata.version("noria"),
            "time": moment(ask.desk.clock.wall()),
            "expose": [role for role in ROLES if role in settings.expose],
            "backend": {"kind": ask.desk.kind, "durability": able.durability},
            "capabilities": {
                "delay": True, "priority": able.priorities, "browse": able.record, "stream": True,
                "transactional": able.transactional, "exact_settle": able.exact_settle, "ordered": able.ordered,
            },
            "limits": {
                **limits.TABLE, "wait_seconds": settings.wait, "waiters": settings.waiters,
                "waiters_per_key": settings.waiters_per_key,
                "streams": settings.streams, "streams_per_key": settings.streams_per_key,
                "rate": ask.who.rate if ask.who.rate is not None else settings.rate,
                "guesses": settings.guesses,
                "arguments_bytes": able.max_body, "result_bytes": able.max_body,
            },
            "key": {"id": ask.who.id, "scopes": sorted(ask.who.scopes)},
        }
    )  # fmt: skip
