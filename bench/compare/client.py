"""What a peer's module offers: a client that awaits, or one that blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Client(ABC):
    """A peer, as a producer and a reader use it. Tasks are `echo` and `nap`."""

    async def prepare(self) -> None:  # noqa: B027 - not everybody needs it
        """Make what it needs on an empty server. Called before anything else, once."""

    async def open(self) -> None:  # noqa: B027 - not everybody needs it
        """Connect, if that is not done by the first call."""

    async def close(self) -> None:  # noqa: B027 - not everybody needs it
        """Leave nothing open."""

    @abstractmethod
    async def enqueue(self, task: str, number: int) -> str:
        """Enqueue one job; its id."""

    async def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Enqueue many by one call. The default is a loop, which is never measured: it only fills a queue."""
        return [await self.enqueue(task, number) for number in numbers]

    async def value(self, id: str) -> int:
        """Wait for the result of a job."""
        raise NotImplementedError(f"there are no results: {id}")

    async def trip(self, number: int) -> int:
        """Enqueue one job and wait for its value."""
        return await self.value(await self.enqueue("echo", number))

    @abstractmethod
    async def left(self) -> int:
        """How many jobs the server still holds that have not ended."""


class Blocking(ABC):
    """The same for a peer that blocks."""

    @abstractmethod
    def enqueue(self, task: str, number: int) -> str:
        """As `Client.enqueue`."""

    def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """As `Client.bulk`."""
        return [self.enqueue(task, number) for number in numbers]

    @abstractmethod
    def value(self, id: str) -> int:
        """As `Client.value`; gives up by itself after ten seconds."""

    @abstractmethod
    def left(self) -> int:
        """As `Client.left`."""


class Awaitable(Client):
    """A client that blocks, behind the methods of one that awaits. Nothing else runs meanwhile."""

    def __init__(self, client: Blocking) -> None:
        self._client = client

    async def enqueue(self, task: str, number: int) -> str:
        """Blocks."""
        return self._client.enqueue(task, number)

    async def bulk(self, task: str, numbers: Sequence[int]) -> list[str]:
        """Blocks."""
        return self._client.bulk(task, numbers)

    async def value(self, id: str) -> int:
        """Blocks."""
        return self._client.value(id)

    async def left(self) -> int:
        """Blocks."""
        return self._client.left()
