"""Ids are their own type: bytes from somewhere else are not taken for one by mistake."""

from __future__ import annotations

from typing import assert_type

from noria import ids
from noria.clock import SystemClock

source = ids.IdSource(SystemClock())

assert_type(source.next(), ids.Id)
assert_type(ids.from_text("0190a0a0-0000-7000-8000-000000000000"), ids.Id)
assert_type(ids.to_text(source.next()), str)

ids.to_text(b"sixteen bytes or")  # type: ignore[arg-type]  # plain bytes are refused
