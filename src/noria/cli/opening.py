"""Opens what a command speaks to: a store or an application, or the front that `--url` names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from noria.cli.flags import Flags
from noria.cli.local_producer import LocalProducer
from noria.cli.output import Output
from noria.cli.peer import Peer
from noria.cli.producer import Producer
from noria.cli.source import Source
from noria.cli.steady import Steady
from noria.cli.store import StoreSource
from noria.cli.target import application, is_front, opened_store


@asynccontextmanager
async def opened_source(flags: Flags) -> AsyncIterator[Source]:
    """The source that `--url` means."""
    if is_front(flags.url):
        from noria.cli.distant import opened_distant
        from noria.cli.remote import RemoteSource

        async with opened_distant(flags) as peer:
            yield RemoteSource(peer)
    else:
        async with opened_store(flags) as store:
            yield StoreSource(store, flags.timeout)


@asynccontextmanager
async def opened_peer(flags: Flags, *, needs_store: bool = True) -> AsyncIterator[Peer]:
    """A front: the one that `--url` names, or one in this process on the store."""
    if is_front(flags.url):
        from noria.cli.distant import opened_distant

        async with opened_distant(flags) as distant:
            yield distant
    else:
        from noria.cli.inside import opened_inside

        async with opened_inside(flags, needs_store=needs_store) as inside:
            yield inside


@asynccontextmanager
async def opened_producer(
    flags: Flags, task: str, options: Mapping[str, Any]
) -> AsyncIterator[Producer[Any]]:
    """Who enqueues jobs of a task with these options. A store is made only when something is enqueued.

    Raises:
        UnknownTask: nobody here knows the task.
        InvalidOption: an option is out of range.
    """
    out = Output(flags)
    steady = Steady(out.warn, out.note)
    if is_front(flags.url):
        from noria.cli.distant import opened_distant
        from noria.cli.remote_producer import remote_producer

        async with opened_distant(flags) as peer:
            yield await remote_producer(peer, task, options, steady)
    else:
        producer = LocalProducer(application(flags, None), task, options, flags.timeout, steady)
        try:
            yield producer
        finally:
            await producer.close()
