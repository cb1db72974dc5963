"""The application that a command line names, or why it cannot be had.

Code is loaded only by what the person at the command line wrote: never by a name from a message, a store or a
request.
"""

from __future__ import annotations

import contextlib
import sys

from noria.app.application import Noria
from noria.app.locate import locate
from noria.cli.exits import ImportFault
from noria.cli.traces import users_trace
from noria.errors import ConfigError


def load(name: str) -> Noria:
    """Import an application.

    Raises:
        ImportFault: it is not there, its code raised, or it is no `Noria`. Carries the user's own traceback.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the module prints is no output of ours
            return locate(name)
    except ConfigError as error:
        raise ImportFault(str(error), trace=users_trace(error.__cause__)) from error
    except SystemExit as error:
        raise ImportFault(
            f"{name} ended the program when it was imported", trace=users_trace(error)
        ) from error
