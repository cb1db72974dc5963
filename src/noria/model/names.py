"""Names: one validated form for tasks, queues and workers, safe in keys, files, labels and pages."""

from __future__ import annotations

import re
from typing import NewType, TypeGuard

from noria.errors import InvalidName, InvalidOption, shown

Name = NewType("Name", str)
"""A name that has passed `check_name`."""

MAX_NAME = 128
MAX_KEY = 512
MAX_TAG = 64
MAX_TAGS = 16

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}", re.ASCII)


def is_name(text: object) -> TypeGuard[str]:
    """Whether a name has the form that `check_name` wants."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def check_name(kind: str, text: object) -> Name:
    """Accept a name, or say what is wrong with it.

    Args:
        kind: what it names ("task", "queue", "worker"), for the message.
        text: 1 to 128 ASCII letters, digits, "_", "." and "-"; the first is a letter, digit or "_".

    Raises:
        InvalidName: it has another form.
    """
    if is_name(text):
        return Name(text)
    raise InvalidName(
        f"{shown(text)} cannot name a {kind}: use 1 to {MAX_NAME} ASCII letters, digits, '_', '.' and '-', "
        "beginning with a letter, digit or '_'",
        field=kind,
    )


def check_text(field: str, text: object, limit: int) -> str:
    """Accept free text such as a unique key, tag or correlation id: printable, and not too long.

    Raises:
        InvalidOption: it is empty, longer than `limit`, or has characters that cannot be shown.
    """
    if isinstance(text, str) and 0 < len(text) <= limit and text.isprintable():
        return text
    if isinstance(text, str) and 0 < len(text) <= limit:
        raise InvalidOption(
            f"{field} has control characters, or others that cannot be shown: {shown(text)}", field=field
        )
    raise InvalidOption(f"{field} must be 1 to {limit} printable characters, not {shown(text)}", field=field)
