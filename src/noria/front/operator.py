"""Carries out bulk operations: those begun here, and those that another front has left behind."""

from __future__ import annotations

import logging
import random
from typing import Final

from msgspec.structs import replace

from noria import aio
from noria.aio import Crew
from noria.backends.contract import Backend
from noria.clock import Clock
from noria.errors import BackendError, Conflict
from noria.front import operation as steps
from noria.front.operation import CHUNK, Held, Operation
from noria.ids import Entropy, Id

log = logging.getLogger("noria.front")

LOOK: Final = 2.0
"""Seconds between looks for operations that nobody runs."""
TENURE: Final = 20.0
"""Seconds after its last step in which nobody else takes an operation."""
_AGAIN: Final = 1.0
_MOST: Final = 100


class Operator:
    """Runs operations, step by step. Two fronts that run the same one disturb each other and spoil nothing.

    Args:
        backend: started.
        crew: owns the tasks.
        chance: for jitter.
    """

    def __init__(
        self, backend: Backend, crew: Crew, clock: Clock, entropy: Entropy, chance: random.Random
    ) -> None:
        self._backend = backend
        self._crew = crew
        self._clock = clock
        self._chance = chance
        self._me = entropy(8).hex()
        self._running: set[str] = set()
        self._stopping = False

    def start(self) -> None:
        """Begin to look for operations that nobody runs."""
        self._crew.start("look", self._look())

    def stop(self) -> None:
        """Begin nothing more; what runs ends after its step, and others take it over."""
        self._stopping = True

    def begin(self, id: str) -> None:
        """Run an operation, if it is not run here already."""
        if id not in self._running and not self._stopping:
            self._running.add(id)
            self._crew.start("operation", self._run(id))

    async def _look(self) -> None:
        told = False
        while not self._stopping:
            await aio.sleep(LOOK * self._chance.uniform(0.75, 1.25))
            try:
                for doc in await self._backend.scan(steps.LIVE, None, _MOST):
                    self.begin(doc.data.decode())
                told = False
            except BackendError as error:
                # Loud once for each outage, which may be long.
                log.log(
                    logging.DEBUG if told else logging.WARNING, "operations are not looked for: %s", error
                )
                told = True

    async def _run(self, id: str) -> None:
        try:
            while not self._stopping:
                try:
                    if await self._step(id):
                        return
                except Conflict:
                    continue  # another front, or somebody who cancels it; read it anew
                except BackendError as error:
                    log.warning("operation %s stands still for a moment: %s", id, error)
                    await aio.sleep(_AGAIN)
        finally:
            self._running.discard(id)

    async def _step(self, id: str) -> bool:
        """Take one step; whether there is nothing more to do here."""
        found = await steps.read(self._backend, id)
        if found is None or found.operation.ended or self._is_others(found.operation):
            return True
        if found.operation.state == "freezing":
            await self._freeze(found)
        elif found.operation.chunk < found.operation.chunks:
            await self._change(found)
        else:
            await steps.update(
                self._backend, found, replace(found.operation, state="done", finished=self._clock.wall())
            )
        return False

    def _is_others(self, operation: Operation) -> bool:
        return operation.owner not in ("", self._me) and self._clock.wall() < operation.until

    async def _freeze(self, found: Held) -> None:
        """Write down one more chunk of its jobs."""
        operation = found.operation
        assert operation.query is not None
        after = None if operation.after is None else Id(bytes.fromhex(operation.after))
        page = await self._backend.find(operation.query, after, CHUNK, ids_only=True)
        after_it, docs = steps.frozen(operation, page.ids, page.next)
        await steps.update(self._backend, found, self._mine(after_it), *docs)

    async def _change(self, found: Held) -> None:
        """Change some jobs, and count them in the step that crosses them out."""
        operation = found.operation
        ids = (await steps.ids_of(self._backend, operation))[operation.offset :]
        portion = ids[: _portion(operation)]
        answers = await self._backend.alter(portion, operation.change()) if portion else []
        wait = len(portion) / operation.rate if operation.rate else 0.0
        while True:
            after, docs = steps.counted(operation, portion, answers, len(ids) - len(portion))
            try:
                await steps.update(self._backend, found, self._mine(after, wait), *docs)
                break
            except Conflict:
                again = await steps.read(self._backend, operation.id)
                if again is None or (again.operation.chunk, again.operation.offset) != (
                    operation.chunk,
                    operation.offset,
                ):
                    raise  # another front has counted these
                found, operation = (
                    again,
                    again.operation,
                )  # cancelled meanwhile: what was done is still counted
        if wait:
            await aio.sleep(wait)

    def _mine(self, operation: Operation, wait: float = 0.0) -> Operation:
        return replace(operation, owner=self._me, until=self._clock.wall() + TENURE + wait)


def _portion(operation: Operation) -> int:
    """How many jobs are changed in one step."""
    return CHUNK if operation.rate is None else max(1, min(CHUNK, int(operation.rate)))
