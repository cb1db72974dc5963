"""Contexts: targets with names, in a file of their user's. Reads the file, and decides which target is meant."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from noria.errors import ConfigError, InvalidInput, shown

_KINDS: Final[dict[str, type]] = {"url": str, "key_file": str, "production": bool}
_WORDS: Final = {str: "a text", bool: "true or false", dict: "a table"}


@dataclass(frozen=True, slots=True)
class Context:
    """A target with a name.

    Attributes:
        url: of a backend or a front; it may hold a password.
        key_file: a file with the key for the front.
        production: writes ask first.
    """

    name: str
    url: str
    key_file: str | None = None
    production: bool = False


@dataclass(frozen=True, slots=True)
class Contexts:
    """What the file says.

    Attributes:
        path: of the file.
        named: the contexts, by name.
        default: the name of the one that is taken where nothing is said.
    """

    path: Path
    named: Mapping[str, Context]
    default: str | None = None

    def find(self, name: str) -> Context:
        """The context of that name.

        Raises:
            InvalidInput: there is none.
        """
        if name not in self.named:
            known = ", ".join(sorted(self.named)) or "none"
            raise InvalidInput(
                f"there is no context {shown(name)} in {self.path}; there is: {known}", field="context"
            )
        return self.named[name]


def place() -> Path:
    """The file: NORIA_CONTEXTS, else noria/contexts.toml in the user's folder for settings (XDG)."""
    if named := os.environ.get("NORIA_CONTEXTS"):
        return _at_home(named)
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if os.path.isabs(base) else _at_home("~/.config")
    return folder / "noria" / "contexts.toml"


def _at_home(text: str) -> Path:
    """A path that may begin with ~; of a user without a home that stays as it is."""
    return Path(os.path.expanduser(text))


def read() -> Contexts:
    """What the file says; without a file there are no contexts.

    Raises:
        ConfigError: it cannot be read or understood, or others may read a password in it. No message has a value.
    """
    path = place()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.environ.get("NORIA_CONTEXTS"):
            return Contexts(path, {})
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigError(f"the contexts in {path} cannot be read: {why}") from error
    found = parse(path, text)
    if any(map(_has_password, found.named.values())) and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"others may read the passwords in {path}: chmod 600 {path}")
    return found


def parse(path: Path, text: str) -> Contexts:
    """The contexts in a text.

    Raises:
        ConfigError: names the line, or the key.
    """
    import tomllib  # most runs have no such file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no TOML: {error}") from None
    try:
        return _contexts(path, document)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None


def _contexts(path: Path, document: dict[str, Any]) -> Contexts:
    _check(document, "", {"default": str, "contexts": dict})
    named = {name: _context(path, name, table) for name, table in document.get("contexts", {}).items()}
    default = document.get("default")
    if default is not None and default not in named:
        raise ValueError(f"default: there is no context {shown(default)}")
    return Contexts(path, named, default)


def _context(path: Path, name: str, table: Any) -> Context:
    where = f"contexts.{name}"
    if not isinstance(table, dict):
        raise ValueError(f"{where} must be a table: [{where}]")
    _check(table, f"{where}.", _KINDS)
    if not table.get("url"):
        raise ValueError(f"{where}.url is missing")
    key_file = table.get("key_file")
    if key_file is not None:
        key_file = str(path.parent / _at_home(key_file))
    return Context(name, table["url"], key_file, table.get("production", False))


def _check(table: Mapping[str, Any], where: str, kinds: Mapping[str, type]) -> None:
    for name, value in table.items():
        if name not in kinds:
            raise ValueError(f"{where}{name} is not known; known are {', '.join(kinds)}")
        if not isinstance(value, kinds[name]):
            raise ValueError(f"{where}{name} must be {_WORDS[kinds[name]]}")


def _has_password(context: Context) -> bool:
    try:
        parts = urlsplit(context.url)
        return parts.password is not None or "password" in parts.query.lower()
    except ValueError:  # whoever uses it will say so
        return True
