"""The SQL of this backend, read from the .sql files beside it. One file holds one statement."""

from __future__ import annotations

from functools import cache
from typing import Final

from noria.backends.sql.files import read_migrations, read_names, read_statement
from noria.backends.sql.files import without_comments as without_comments

_HERE: Final = "noria.backends.sqlite"


@cache
def statement(name: str) -> str:
    """The statement in `sql/NAME.sql`, without its comments."""
    return read_statement(_HERE, name)


def statement_names() -> list[str]:
    """Every statement there is, for the tests that look at their plans."""
    return read_names(_HERE)


def migrations() -> dict[int, str]:
    """The steps of the schema, by the version that each leads to."""
    return read_migrations(_HERE)
