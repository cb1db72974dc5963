"""What `noria doctor` found: how it stands with one thing, and what to do about it."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Mark(Enum):
    """How it stands. Only FAILED makes the whole check fail."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAILED = "failed"


class Finding(Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        check: what, in a word or two.
        mark: how it stands.
        text: what was seen.
        fix: what to do; empty if there is nothing to do.
    """

    check: str
    mark: Mark
    text: str
    fix: str = ""


def ok(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(check, Mark.OK, text)


def note(check: str, text: str) -> Finding:
    """Worth knowing; neither good nor bad."""
    return Finding(check, Mark.NOTE, text)


def warning(check: str, text: str, fix: str) -> Finding:
    """Works, but may not be meant so."""
    return Finding(check, Mark.WARNING, text, fix)


def failed(check: str, text: str, fix: str) -> Finding:
    """Does not work, or breaks a promise."""
    return Finding(check, Mark.FAILED, text, fix)
