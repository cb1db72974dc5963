"""Times that a client wrote, judged in the client's words."""

from __future__ import annotations

from datetime import datetime

from noria.app import checks
from noria.errors import InvalidInput


def point(field: str, value: datetime, *, after: float | None = None) -> float:
    """A time as seconds since the epoch.

    Args:
        field: its name in the body.
        after: it has to be later than this.

    Raises:
        InvalidInput: it has no zone, is no time that can be kept, or is past.
    """
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{field} has no zone; write it as 2030-01-31T12:00:00Z, which is UTC", field=field
        )
    try:
        found = checks.moment(field, value)
    except InvalidInput:
        raise InvalidInput(f"{field} must be a time in the years 1970 to 9999", field=field) from None
    if after is not None and found <= after:
        raise InvalidInput(f"{field} is past; name a time that is yet to come", field=field)
    return found
