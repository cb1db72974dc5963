"""SQL in files beside the Python of a backend. One file holds one statement, or one step of the schema."""

from __future__ import annotations

from importlib.resources import files


def read_statement(package: str, name: str) -> str:
    """The statement in `sql/NAME.sql`, without its comments, which would only lengthen what is sent and cached."""
    return without_comments((files(package) / "sql" / f"{name}.sql").read_text("utf-8"))


def read_names(package: str) -> list[str]:
    """Every statement there is, for the tests that look at their plans."""
    return sorted(
        entry.name.removesuffix(".sql")
        for entry in (files(package) / "sql").iterdir()
        if entry.name.endswith(".sql")
    )


def read_migrations(package: str) -> dict[int, str]:
    """The steps of the schema, by the version that each leads to."""
    scripts = (entry for entry in (files(package) / "migrations").iterdir() if entry.name.endswith(".sql"))
    return {int(entry.name[:4]): entry.read_text("utf-8") for entry in scripts}


def without_comments(text: str) -> str:
    """SQL without the lines that are comments; no statement of ours has one inside a line."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
