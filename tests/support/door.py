"""A front in the hands of a test: a store of its own, tasks, a worker if wanted, and a client that knows no network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from noria import Context, Noria
from noria.app.catalog import KIND
from noria.backends.sqlite import SqliteBackend
from noria.clock import SystemClock
from noria.front import asgi
from noria.front.front import Front
from noria.ids import IdSource
from noria.worker import Worker

MASTER = "the-master-key-of-all-tests"
PATIENCE = 10.0


class Place:
    """What a test has in hand.

    Attributes:
        app: open.
        front: open.
        client: asks the front; raises nothing by itself.
    """

    def __init__(self, app: Noria, front: Front, client: httpx.AsyncClient) -> None:
        self.app = app
        self.front = front
        self.client = client
        self._workers: list[tuple[Worker, asyncio.Task[Any]]] = []

    async def ask(self, method: str, path: str, json: Any = None, **more: Any) -> httpx.Response:
        """One request; a body is JSON unless `content` says otherwise."""
        given = {} if json is None else {"json": json}
        return await self.client.request(method, path, **given, **more)

    async def enqueue(self, task: str, args: Any = None, **more: Any) -> str:
        """Enqueue a job; its id."""
        answer = await self.ask("POST", "/v1/jobs", {"task": task, "args": args or {}, **more})
        assert answer.status_code in (200, 202), answer.text
        return str(answer.json()["id"])

    async def job(self, id: str, **params: Any) -> Any:
        """A job as it stands."""
        answer = await self.ask("GET", f"/v1/jobs/{id}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def ended(self, id: str) -> Any:
        """A job, once it has ended."""
        found = await self.job(id, wait=PATIENCE)
        assert found["final"], found
        return found

    async def question(self, message: str = "?", queue: str = "default", **settings: Any) -> str:
        """The id of an open question of a new job; a worker for its queue, with these settings, is hired."""

        @self.app.task(queue=queue)
        async def wonder(ctx: Context) -> str:
            return await ctx.ask(message)

        await self.hire(queues=(queue,), **settings)
        job = await wonder.enqueue()
        async with self.patience():
            while (question := await job.question()) is None:
                await self.breathe()
        return question.id

    async def key(self, *scopes: str, **fields: Any) -> dict[str, str]:
        """Make a key; the header that shows it."""
        body = {"name": "a test's", "scopes": list(scopes), **fields}
        answer = await self.ask("POST", "/v1/keys", body, headers=bearer(MASTER))
        assert answer.status_code == 201, answer.text
        return bearer(answer.json()["key"])

    @staticmethod
    def patience() -> asyncio.Timeout:
        """So long a test waits for what should have happened."""
        return asyncio.timeout(PATIENCE)

    @staticmethod
    async def breathe() -> None:
        """Let others run."""
        await asyncio.sleep(0.005)

    async def hire(self, **settings: Any) -> Worker:
        """A worker that runs, and whose tasks every front can know."""
        worker = self.app.worker(**{"poll": 0.1, **settings})
        self._workers.append((worker, asyncio.ensure_future(worker.run())))
        await worker.started.wait()
        async with self.patience():
            while None in await self.app.backend.read(KIND, [sheet.name for sheet in self.app.sheets()]):
                await self.breathe()
        return worker

    async def close(self) -> None:
        for worker, running in self._workers:
            worker.drain(now=True)
            await running


def bearer(token: str) -> dict[str, str]:
    """The header that shows a key."""
    return {"authorization": f"Bearer {token}"}


def shop(app: Noria) -> None:
    """Tasks for tests."""

    @app.task(safe=True)
    async def sqrt(a: float) -> float:
        """The square root of a number."""
        return float(a**0.5)

    @app.task
    async def cube(a: int) -> int:
        return int(a**3)

    @app.task(attempts=1)
    async def fail(why: str = "no reason") -> None:
        raise ValueError(why)

    @app.task(attempts=1)
    async def refuse() -> None:
        raise LookupError("out of paper")

    @app.task
    async def nap(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "rested"

    @app.task(queue="other", keep=0)
    async def echo(value: Any = None) -> Any:
        return value


def store(folder: Path, name: str = "door.db") -> SqliteBackend:
    clock = SystemClock()
    return SqliteBackend(
        folder / name, runtime=folder, clock=clock, ids=IdSource(clock), synchronous="off", timeout=20.0
    )


@asynccontextmanager
async def place(
    folder: Path, tasks: Callable[[Noria], None] = shop, *, worker: bool = False, **settings: Any
) -> AsyncIterator[Place]:
    """A front in a folder, open for everybody on this machine unless the settings say otherwise."""
    app = Noria(backend=store(folder), runtime=folder)
    tasks(app)
    if "api_key" not in settings:
        settings.setdefault("open", True)
    front = asgi(app, **settings)
    transport = httpx.ASGITransport(front)
    async with (
        front,
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=30) as client,
    ):
        found = Place(app, front, client)
        try:
            if worker:
                await found.hire()
            yield found
        finally:
            await found.close()
