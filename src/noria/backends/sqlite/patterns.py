"""How SQLite writes what a search looks for: GLOB for names, LIKE where case does not matter."""

from __future__ import annotations

import re
from collections.abc import Sequence


class Patterns:
    """See `noria.backends.sql.patterns.Patterns`."""

    def exactly(self, text: str) -> str:
        return re.sub(r"([*?[])", r"[\1]", text)

    def beginning(self, text: str) -> str:
        return self.exactly(text) + "*"

    def containing(self, text: str) -> str:
        return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"

    def path(self, path: str) -> str:
        steps: Sequence[str] = path.split(".") if path else ()
        return "$" + "".join(
            f"[{step}]" if step.isdecimal() and step.isascii() else f'."{step}"' for step in steps
        )
