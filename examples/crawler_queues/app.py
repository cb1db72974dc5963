"""A crawler: list pages bring detail pages, which have the larger share; each page once, through four tunnels.

Run it with `python examples/crawler_queues/app.py`. It crawls a shop of its own, and works in a folder that it removes
again.
"""

from __future__ import annotations

import asyncio
import http.client
import tempfile
from pathlib import Path

from shop import LISTS, Shop, links_of, open_shop

from noria import Context, Noria, Unique

HIGH = 30

app = Noria()
app.queue("lists", weight=2, high_water={"details": HIGH})
app.queue("details", weight=8)
app.resource("tunnel", capacity=4)
once = Unique(by=("port", "path"), within=3600)
lines: list[int] = []


@app.task(queue="lists", needs=("tunnel",), unique=once)
async def list_page(ctx: Context, port: int, path: str) -> int:
    """Waits on the loop. Its detail pages are stored together with its outcome, so that a retry doubles none."""
    details = (await app.backend.counts()).queues.get("details")
    lines.append(0 if details is None else details.length)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    text = (await reader.read()).decode()
    writer.close()
    for link in links_of(text):
        ctx.enqueue(detail_page, port, link)
    return len(links_of(text))


@app.task(queue="details", needs=("tunnel",), unique=once)
def detail_page(port: int, path: str) -> str:
    """Blocks, as Selenium does: a `def` runs in a thread."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app.url = f"sqlite:///{Path(folder) / 'noria.db'}"
        async with open_shop() as (shop, port), app:
            await app.enqueue_many([list_page.job(port, f"/list/{n}") for n in range(LISTS)])
            await app.enqueue_many([list_page.job(port, f"/list/{n}") for n in range(LISTS)])
            await asyncio.gather(*(app.worker(burst=True, threads=8).run() for _ in range(2)))
            report(shop)


def report(shop: Shop) -> None:
    """Say what the shop has seen."""
    served = [path.split("/")[1] for path in shop.served]
    print(f"{served.count('list')} list pages and {served.count('detail')} detail pages, by two workers")
    print(f"{len(shop.served) - len(set(shop.served))} pages were fetched twice")
    print(f"{shop.most} requests at once, at most")
    print(f"{max(lines)} detail pages waited, at most, when a list page began; {HIGH} hold the next ones")
    print(f"{served[:200].count('detail')} of the first 200 pages were detail pages")


if __name__ == "__main__":
    asyncio.run(main())
