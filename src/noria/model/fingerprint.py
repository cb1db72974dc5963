"""Which failures are probably one fault: the same task, the same kind of error, raised at the same place."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from noria.model.outcome import Failure

_FRAME: Final = re.compile(r'File "([^"\n]{1,500})", line \d+, in (\S{1,200})')
_VARIABLE: Final = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d+|'[^']*'|\"[^\"]*\"")


def fingerprint(task: str, failure: Failure) -> str:
    """A short text, equal for failures that are probably one fault.

    What tells them apart is the task, the reason, the type of the error, and the function in which it was raised; line
    numbers are left out, so that an edit elsewhere in the file starts no new group. Without a traceback it is the
    message, as far as numbers, ids and quoted words do not make it vary.
    """
    where = _raised_at(failure.traceback) or _VARIABLE.sub("#", failure.message)[:300]
    text = "\n".join((task, failure.reason, failure.type, where))
    return blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _raised_at(traceback: str) -> str:
    """File and function of the innermost frame; folders differ from host to host, but for the last one."""
    frames = _FRAME.findall(traceback)
    if not frames:
        return ""
    path, function = map(str, frames[-1])
    return "/".join(re.split(r"[/\\]", path)[-2:]) + ":" + function
