"""The front door: jobs over HTTP, from any language, in a process of its own or mounted in any ASGI application.

Needs the extra `serve`. What only shows things (`resources`, `query`) does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from noria.app.application import Noria
from noria.errors import ConfigError
from noria.front.settings import FrontOptions, FrontSettings

if TYPE_CHECKING:
    from noria.front.front import Front

__all__ = ["FrontSettings", "asgi"]


def asgi(app: Noria, **settings: Unpack[FrontOptions]) -> Front:
    """The front door of an application, as an ASGI application.

    Served by itself, it opens and closes with its server. Mounted in another application, it is opened by that one's
    lifespan: `async with front:`. The root path under which it is mounted is honoured in every link.

    Args:
        app: whose jobs; it may know no tasks, then those that workers have published are served.
        settings: as in `FrontSettings`.

    Raises:
        ConfigError: the extra is not installed.
        InvalidOption: a setting is unknown, of the wrong type or out of range.
    """
    try:
        from noria.front.front import Front
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "noria":
            raise
        raise ConfigError(
            f"the front door needs {missing}, which is not here: pip install noria[serve]"
        ) from error
    return Front(app, FrontSettings.of(settings))
