"""`noria version`."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

import click

from noria.cli.command import Command
from noria.cli.flags import flags_of
from noria.cli.output import Output


def versions() -> dict[str, str]:
    """What a bug report needs to know about this installation."""
    import apsw

    return {
        "noria": metadata.version("noria"),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "implementation": sys.implementation.name,
    }


@click.command(cls=Command, use="nothing")
@click.pass_context
def version(ctx: click.Context) -> None:
    """Say which versions are installed."""
    out = Output(flags_of(ctx))
    found = versions()
    if out.json:
        out.record(found)
        return
    for name, value in found.items():
        out.line(f"{name:<16}{value}")
