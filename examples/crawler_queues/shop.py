"""A toy shop to be crawled: list pages that link to detail pages, and to some of those of the list before."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LISTS = 40
DETAILS = 10
"""Detail pages that are new on each list page."""


class Shop:
    """What it was asked for, and how many requests it had at once at most."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.most = 0
        self._now = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request."""
        path = (await reader.readline()).decode().split()[1]
        self.served.append(path)
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0.01)
        self._now -= 1
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + page(path).encode())
        await writer.drain()
        writer.close()


def page(path: str) -> str:
    """What stands at such a path."""
    kind, number = path.strip("/").split("/")
    if kind == "detail":
        return f"<h1>thing {number}</h1>"
    first = int(number) * DETAILS
    things = range(max(0, first - 2), first + DETAILS)
    return "".join(f'<a href="/detail/{n}">thing {n}</a>' for n in things)


def links_of(text: str) -> list[str]:
    """Where a page links to."""
    return re.findall(r'href="([^"]+)"', text)


@asynccontextmanager
async def open_shop() -> AsyncIterator[tuple[Shop, int]]:
    """Serve the shop on a free port of this machine; gives that port."""
    shop = Shop()
    server = await asyncio.start_server(shop.answer, "127.0.0.1", 0)
    async with server:
        yield shop, server.sockets[0].getsockname()[1]
