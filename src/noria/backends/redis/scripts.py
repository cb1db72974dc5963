"""The Lua of this backend, read from the .lua files beside it. One file holds one script.

A script names in its head what it needs of `lua/lib`; those pieces are put before it. What is sent has no comments, no
function that is not called, and numbers instead of their names: Lua makes each function anew, and looks for each name
that it uses, whenever a script is called.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_FUNCTION: Final = re.compile(r"^local function (\w+)\(.*?^end\n", re.MULTILINE | re.DOTALL)
_NUMBERS: Final = re.compile(r"^local ([A-Z_, ]+) = ([\d, ]+)\n", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_NEEDS: Final = re.compile(r"^-- Needs: (.+)$", re.MULTILINE)


class Script(NamedTuple):
    """A script as the server gets it, and the digest by which it is called afterwards."""

    text: bytes
    digest: bytes


@cache
def script(name: str) -> Script:
    """The script in `lua/NAME.lua`, with what it needs."""
    first, _, rest = read(name).partition("\n")
    pieces = [read(f"lib/{piece}") for piece in needs(name)]
    whole = "\n".join(map(_without_comments, [*pieces, rest]))
    text = "\n".join([first, _without_names(_without_idle(whole))]).encode()
    # The server's own name for a script; it protects nothing.
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def script_names() -> list[str]:
    """Every script there is."""
    folder = files(__package__) / "lua"
    return sorted(
        entry.name.removesuffix(".lua") for entry in folder.iterdir() if entry.name.endswith(".lua")
    )


def read(name: str) -> str:
    """The file of a script or of a piece, with its comments."""
    return (files(__package__) / "lua" / f"{name}.lua").read_text("utf-8")


def needs(name: str) -> list[str]:
    """The pieces that a script names in its head; a dash stands for none."""
    found = _NEEDS.search(read(name))
    return found[1].split(", ") if found and found[1] != "-" else []


def _without_comments(text: str) -> str:
    """Lua without the lines that are comments; no string of ours has one inside a line."""
    return "\n".join(line for line in text.splitlines() if line and not line.lstrip().startswith("--"))


def _without_idle(text: str) -> str:
    """Lua without the functions that nothing calls; none of ours calls itself."""
    named = Counter(_WORD.findall(text))
    for function in reversed(list(_FUNCTION.finditer(text))):
        if named[function[1]] == 1:
            text = text[: function.start()] + text[function.end() :]
            named.subtract(_WORD.findall(function[0]))
    return text


def _without_names(text: str) -> str:
    """Lua with numbers in place of the names that stand for them; no string of ours has one in it."""
    numbers: dict[str, str] = {}
    for names, values in _NUMBERS.findall(text):
        numbers |= dict(zip(names.split(", "), values.split(", "), strict=True))
    return _WORD.sub(lambda word: numbers.get(word[0], word[0]), _NUMBERS.sub("", text))
