"""What every backend asks of marks, and how it puts together those of one start."""

from __future__ import annotations

from collections.abc import Iterable

from noria.backends import docs as docs_of
from noria.backends.contract import Mark
from noria.errors import InvalidInput
from noria.ids import to_text


def check(marks: Iterable[Mark]) -> None:
    """Refuse what cannot be stored.

    Raises:
        InvalidInput: a mark is too large, says what no job can do, or has documents that cannot be stored.
    """
    for mark in marks:
        if (flaw := mark.flaw) is not None:
            raise InvalidInput(f"a mark of job {to_text(mark.id)} cannot be stored: {flaw}")
        docs_of.check(mark.docs)
        if isinstance(mark.asks, str):
            docs_of.check_names("question", mark.asks)
        if mark.progress is not None and mark.progress.note != _fit(mark.progress.note):
            raise InvalidInput(
                f"the note of job {to_text(mark.id)} is no text that can be stored", field="note"
            )


def _fit(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
