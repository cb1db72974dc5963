"""A login that stops half-way for a code from a person's phone, and goes on with the same cookies in memory."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Annotated

import msgspec

from noria import Context, Fail, Noria

app = Noria()


@dataclass
class Code:
    """What the person is asked for."""

    code: Annotated[str, msgspec.Meta(pattern="^[0-9]{6}$")]


class Shop:
    """Stands for a site that texts a code to a phone: it takes that from the very session that it was sent for."""

    def __init__(self) -> None:
        self._sent: dict[str, str] = {}

    async def begin(self, phone: str) -> dict[str, str]:
        """Send a code; the cookies of the new session."""
        session = secrets.token_hex(8)
        self._sent[session] = phone[-6:]  # so that the README can know it
        return {"session": session}

    async def finish(self, cookies: dict[str, str], code: str) -> bool:
        """Whether this is the code of this session."""
        return self._sent.pop(cookies["session"], "") == code


shop = Shop()
MOST = 5
"""Codes that one login may have sent, however often its worker dies: each of them costs, and annoys."""


@app.task(attempts=3)
async def login(ctx: Context, phone: str) -> str:
    """Log in; the code is a person's to tell."""
    number = (ctx.restored or 0) + 1
    if number > MOST:
        raise Fail(f"{MOST} codes were sent to {phone} in vain")
    await ctx.checkpoint(number)
    cookies = await shop.begin(phone)
    answer = await ctx.ask(f"Code {number} that was sent to {phone}", schema=Code, secret=True, timeout=300)
    if not await shop.finish(cookies, answer.code):
        raise PermissionError("this is not the code")
    return f"{phone} is in"
