"""The SQL of this backend, read from the .sql files beside it. One file holds one statement.

Each names its tables as those of the schema `noria`, so that it can be read into psql as it is; the schema of the
namespace takes that place. Nothing depends on the search path of a connection, which may be a caller's own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from noria.backends.sql.files import read_migrations, read_names, read_statement

_HERE: Final = "noria.backends.postgres"


@cache
def statement(name: str, namespace: str) -> bytes:
    """The statement in `sql/NAME.sql`, without its comments, on the tables of a namespace."""
    return in_namespace(read_statement(_HERE, name), namespace).encode()


def statement_names() -> list[str]:
    """Every statement there is, for the tests that look at their plans."""
    return read_names(_HERE)


def migrations() -> dict[int, str]:
    """The steps of the schema, by the version that each leads to."""
    return read_migrations(_HERE)


def in_namespace(text: str, namespace: str) -> str:
    """SQL with the schema of a namespace, whose name is checked, in the place of `noria`."""
    return re.sub(r"\bnoria\.", f'"{namespace}".', text)
