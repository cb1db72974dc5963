"""Tracebacks: what people look for first is their own code."""

from __future__ import annotations

import os
import re
import traceback
from types import TracebackType
from typing import Final, NamedTuple

_FRAME: Final = re.compile(
    r'^  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE
)
_FOREIGN: Final = re.compile(r"/(?:site|dist)-packages/|/lib/python\d|/noria/(?:worker|app|cli)/|^<frozen ")
_IMPORTING: Final = re.compile(
    r"/noria/(?:app/locate|cli/\w+)\.py$|/importlib/__init__\.py$|^<frozen importlib"
)


_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Frame(NamedTuple):
    """A place in the code."""

    file: str
    line: int
    function: str
    code: str


def own_frame(trace: str) -> Frame | None:
    """The last frame of the user's own code in a formatted traceback; the last one at all if none is."""
    found = [_frame(match, trace) for match in _FRAME.finditer(trace)]
    own = [frame for frame in found if not _FOREIGN.search(frame.file)]
    frames = own or found
    return frames[-1] if frames else None


def _frame(match: re.Match[str], trace: str) -> Frame:
    following = trace[match.end() + 1 :].split("\n", 1)[0]
    code = following.strip() if following.startswith("    ") else ""
    return Frame(match["file"], int(match["line"]), match["function"], code)


def users_trace(error: BaseException | None) -> str:
    """A traceback as the user's program would have printed it: without the frames that led to their code."""
    if error is None:
        return ""
    return "".join(traceback.format_exception(type(error), error, _users_part(error.__traceback__)))


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and _IMPORTING.search(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def is_ours(error: BaseException) -> bool:
    """Whether an exception was raised in Noria's own code, and not in what it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE)
