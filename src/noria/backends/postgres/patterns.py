"""How PostgreSQL writes what a search looks for: LIKE, and ILIKE where case does not matter."""

from __future__ import annotations

import re

from noria.backends.sql.rows import encode


class Patterns:
    """See `noria.backends.sql.patterns.Patterns`."""

    def exactly(self, text: str) -> str:
        return re.sub(r"([\\%_])", r"\\\1", text)

    def beginning(self, text: str) -> str:
        return self.exactly(text) + "%"

    def containing(self, text: str) -> str:
        return "%" + self.exactly(text) + "%"

    def path(self, path: str) -> str:
        return encode(path.split(".") if path else [])
