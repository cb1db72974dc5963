"""A FastAPI application that enqueues jobs itself, and shows the front door to whoever it lets in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from noria import Noria
from noria.front import asgi

jobs = Noria()
app = jobs
"""What `noria worker app.py` looks for; the web server takes `site`."""


@jobs.task
async def thumbnail(picture: str, width: int = 200) -> str:
    """Make a small picture of a large one."""
    return f"{picture}@{width}px"


# The application guards the door itself, so that the front need not ask for keys of its own.
front = asgi(jobs, open=True, hosts=("*",))


@asynccontextmanager
async def lifespan(site: FastAPI) -> AsyncIterator[None]:
    """Open the store for as long as the site is up."""
    async with front:
        yield


async def member(x_member: Annotated[str, Header()] = "") -> str:
    """Who asks; a real site would look at a session."""
    if not x_member:
        raise HTTPException(401, "who are you?")
    return x_member


site = FastAPI(lifespan=lifespan)


@site.post("/pictures/{picture}")
async def upload(picture: str, who: Annotated[str, Depends(member)]) -> dict[str, str]:
    """Take a picture, and have its thumbnail made."""
    job = await thumbnail.options(tags=[who]).enqueue(picture)
    return {"job": job.id, "follow": f"/jobs/v1/jobs/{job.id}/events"}


class MembersOnly:
    """Lets members through to what is mounted; pure ASGI, so that event streams and waits pass untouched."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to strangers."""
        if scope["type"] == "http" and "x-member" not in Headers(scope=scope):
            await PlainTextResponse("who are you?", 401)(scope, receive, send)
            return
        await self._inner(scope, receive, send)


site.mount("/jobs", MembersOnly(front))
