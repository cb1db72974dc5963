"""The SQL of this backend, read from the .sql files beside it. One file holds one statement."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    """The statement in `sql/NAME.sql`, without its comments, which would only lengthen the cache's key."""
    return without_comments((files(__package__) / "sql" / f"{name}.sql").read_text("utf-8"))


def statement_names() -> list[str]:
    """Every statement there is, for the tests that look at their plans."""
    folder = files(__package__) / "sql"
    return sorted(
        entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")
    )


def migrations() -> dict[int, str]:
    """The steps of the schema, by the version that each leads to."""
    folder = files(__package__) / "migrations"
    scripts = (entry for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return {int(entry.name[:4]): entry.read_text("utf-8") for entry in scripts}


def without_comments(text: str) -> str:
    """SQL without the lines that are comments; no statement of ours has one inside a line."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
