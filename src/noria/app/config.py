"""What the environment says; nothing else in the application reads it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Final

from noria.errors import ConfigError

DEFAULT_URL: Final = "sqlite:///noria.db"

_PUBLIC: Final = re.compile(
    r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~%/-]*)?", re.ASCII
)
_LONGEST: Final = 70
"""Bytes of a runtime folder's path, so that the sockets in it stay below the system's 100."""


def backend_url() -> str:
    """`NORIA_URL`, or the embedded store in the current folder."""
    return os.environ.get("NORIA_URL") or DEFAULT_URL


def public_url() -> str:
    """`NORIA_PUBLIC_URL`, where persons reach a front, without a slash at its end; empty if it does not say.

    Raises:
        ConfigError: it is no address.
    """
    found = os.environ.get("NORIA_PUBLIC_URL", "").rstrip("/")
    if found and not _PUBLIC.fullmatch(found):
        raise ConfigError(
            "NORIA_PUBLIC_URL must be the address of a front as persons reach it, such as https://jobs.example.com, "
            "without a user, a query or a fragment"
        )
    return found


def api_key() -> str | None:
    """`NORIA_API_KEY`: a key for the front door that may do everything; None if there is none."""
    return os.environ.get("NORIA_API_KEY") or None


def take_api_key() -> str | None:
    """The same, hidden from now on from the code that runs here, and from whatever it starts.

    So is `NORIA_KEY_FILE`, which names a file with such a key (decision 0027).
    """
    os.environ.pop("NORIA_KEY_FILE", None)
    return os.environ.pop("NORIA_API_KEY", "") or None


def runtime_folder(store: Path) -> Path:
    """The private folder for the sockets and journals of everyone on this machine who uses a store.

    `NORIA_RUNTIME_DIR`, or `$XDG_RUNTIME_DIR/noria`, or `/tmp/noria-UID`; and in it one folder a store, so
    that all processes that open the same file meet, however they write its path. Both are made if missing.

    Raises:
        ConfigError: it is somebody else's, others may enter it, it cannot be made, or its path is too long.
    """
    base = _runtime_base()
    name = hashlib.blake2b(os.fsencode(os.path.realpath(store)), digest_size=8).hexdigest()
    folder = base / name
    if len(os.fsencode(folder)) > _LONGEST:
        raise ConfigError(
            f"the runtime folder {base} has too long a path for sockets; set NORIA_RUNTIME_DIR to one of "
            f"at most {_LONGEST - len(name) - 1} bytes"
        )
    for each in (base, folder):
        _make_private(each)
    return folder


def _runtime_base() -> Path:
    chosen = os.environ.get("NORIA_RUNTIME_DIR")
    if chosen:
        return Path(os.path.abspath(chosen))
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and os.path.isabs(session) and os.path.isdir(session):
        return Path(session, "noria")
    return Path("/tmp", f"noria-{os.getuid()}")  # noqa: S108 - made private and checked to be ours below


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ConfigError(
            f"the runtime folder {folder} cannot be made: {error.strerror}; set NORIA_RUNTIME_DIR to another"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ConfigError(
            f"the runtime folder {folder} is not a folder that only user {os.getuid()} may enter; "
            "remove it, or set NORIA_RUNTIME_DIR to another"
        )
