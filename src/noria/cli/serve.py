"""`noria serve`: the front door in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import click

from noria.app.application import Noria
from noria.app.config import api_key
from noria.cli import logs
from noria.cli.command import Command
from noria.cli.departure import Departure
from noria.cli.exits import ExitCode, Stop, code_of
from noria.cli.flags import WORDS, app_argument, flags_of, option
from noria.cli.line import Line, supervised
from noria.cli.service import loop_factory, tell_where_all_stand
from noria.cli.signals import Ears
from noria.cli.target import application, url_of
from noria.clock import SystemClock
from noria.errors import ConfigError

if TYPE_CHECKING:
    from noria.front.server import Server

log = logging.getLogger("noria.cli")

_LAST_STEPS = 10.0
"""Seconds after which a process that should be gone is ended the hard way."""


@click.command(cls=Command, use="writes")
@app_argument
@option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0 is any that is free."
)
@option("--root-path", default="", help="The path under which a proxy shows this front.")
@option(
    "--allow-host", "hosts", multiple=True, metavar="NAME",
    help="Answer to this name only; may repeat. Default: any with a key, this machine's own without.",
)  # fmt: skip
@option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin call; may repeat.",
)
@option(
    "--expose", type=WORDS, metavar="ROLE,...",
    help="Have the routes of these roles only: jobs, answers, manage, metrics, docs. Default: all.",
)  # fmt: skip
@option("--rate", type=float, help="Requests a second of one key, if the key does not say.")
@option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="On stderr."
)
@click.pass_context
def serve(
    ctx: click.Context, /, named: str | None, log_format: Literal["text", "json"], host: str, port: int,
    root_path: str, **given: Any,
) -> None:  # fmt: skip
    """Serve jobs over HTTP.

    APP is module:attribute, or path/to/file.py; without one, the tasks that workers have published are served. On an
    address that others can reach, a key is needed: NORIA_API_KEY, or one in the store. SIGTERM or Ctrl-C answers all
    who wait, ends event streams, and stops; again stops now.
    """
    flags = flags_of(ctx)
    line = supervised()
    handler = logs.set_up(log_format, level=logs.level(verbose=flags.verbose, quiet=flags.quiet))
    if not flags.verbose:
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
    departure = Departure(lambda: logs.flush(handler))
    departure.prepare()
    app = application(flags, named) if named or flags.app else Noria(url_of(flags))
    server = make_server(app, key=api_key(), host=host, port=port, root_path=root_path, **given)
    raise Stop(_run(server, departure, line))


def make_server(
    app: Noria,
    *,
    key: str | None,
    host: str,
    port: int,
    root_path: str = "",
    spares: int = 0,
    **settings: Any,
) -> Server:
    """A server of an application's front.

    Args:
        key: one that may do everything.
        host, port, root_path, spares: as for `Server`.
        settings: of the front; None is what it does by default.

    Raises:
        ConfigError: the extra is not installed.
        InvalidOption: a setting is out of range.
    """
    try:
        from noria.front.server import Server
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"noria serve needs {error.name}, which is not here: pip install noria[serve]"
        ) from error
    from noria.front import asgi
    from noria.front.listener import is_loopback

    given = {name: value for name, value in settings.items() if value is not None}
    front = asgi(app, api_key=key, open=is_loopback(host), **given)
    return Server(front, host=host, port=port, root_path=root_path, spares=spares)


def _run(server: Server, departure: Departure, line: Line | None) -> ExitCode:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        code = ExitCode.BUG
        try:
            runner.run(_serve(server, departure, line))
            code = ExitCode.OK
        except (Exception, KeyboardInterrupt) as error:
            code = code_of(error)
            raise
        finally:
            departure.decide(code)
    return code


async def _serve(server: Server, departure: Departure, line: Line | None) -> None:
    loop = asyncio.get_running_loop()

    def stop(how: Callable[[], None]) -> None:
        departure.limit(ExitCode.FAILED, _LAST_STEPS)
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so will the process
            loop.call_soon_threadsafe(how)

    def heard(number: int, count: int) -> None:
        name = signal.Signals(number).name
        if count > 2:
            departure.now(ExitCode.FAILED)
        log.warning("%s%s: stopping%s", name, " again" if count > 1 else "", "" if count == 1 else " now")
        stop(server.stop if count == 1 else server.cut)

    def orphaned() -> None:
        log.warning("the supervisor is gone: stopping")
        stop(server.stop)

    def ready(url: str) -> None:
        log.info("serving at %s; documentation at %s/docs", url, url)
        if line is not None:
            line.working()

    Ears(heard, SystemClock().monotonic, {signal.SIGUSR1: tell_where_all_stand}).open()
    if line is not None:
        line.attach(lambda death: None, orphaned)
    await server.run(ready)
