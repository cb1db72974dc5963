"""The limits of the front door, in one table; `GET /v1` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from noria.model.limits import MAX_BODY
from noria.model.names import MAX_TAG, MAX_TAGS

ENVELOPE: Final = 64 * 1024
"""Bytes that a request about one job may have beside its arguments."""
BODY: Final = MAX_BODY + ENVELOPE
BATCH: Final = 1_000
BATCH_BODY: Final = 4 * 1024 * 1024
DEPTH: Final = 32
MEMBERS: Final = 1_000
"""Members of one object in a body."""
PAGE: Final = 200
PAGE_OF_IDS: Final = 1_000
USUAL_PAGE: Final = 50
SLOTS: Final = 50
"""Slots of a rule that are looked ahead to."""
COUNT: Final = 10_000
OPERATION_IDS: Final = 10_000
NOTE: Final = 500
"""Characters of the note of an operation; more are cut off."""
QUERY: Final = 1_000
"""Characters of query words."""
NAMES: Final = 200
"""Queues, tasks, and pairs of these that have a line of their own in the numbers; all others are one."""
SPANS: Final = 1_500
KEY_PATTERNS: Final = 100
WAIT: Final = 60.0
WAITERS: Final = 2_000
WAITERS_OF_KEY: Final = 500
STREAMS: Final = 2_000
STREAMS_OF_KEY: Final = 20
GUESSES: Final = 5.0
"""Keys that are not good, a second from one address."""
HEADERS: Final = 16 * 1024
READ_TIME: Final = 30.0
UNREAD: Final = 30.0
"""Seconds after which a client is cut off that takes nothing of what is sent to it."""
SHOWN: Final = 64 * 1024
"""Bytes of arguments or a result that come with a job unasked."""
IDEMPOTENCY_KEY: Final = 255
REMEMBERED: Final = 24 * 3600.0
"""Seconds for which an idempotency key is kept."""

TABLE: Final[Mapping[str, float]] = MappingProxyType(
    {
        "body_bytes": BODY,
        "batch_items": BATCH,
        "batch_bytes": BATCH_BODY,
        "json_depth": DEPTH,
        "object_members": MEMBERS,
        "page": PAGE,
        "page_of_ids": PAGE_OF_IDS,
        "count": COUNT,
        "operation_ids": OPERATION_IDS,
        "note_characters": NOTE,
        "query_characters": QUERY,
        "names": NAMES,
        "spans": SPANS,
        "key_patterns": KEY_PATTERNS,
        "header_bytes": HEADERS,
        "read_seconds": READ_TIME,
        "unread_seconds": UNREAD,
        "shown_bytes": SHOWN,
        "tags": MAX_TAGS,
        "tag_characters": MAX_TAG,
        "idempotency_key_characters": IDEMPOTENCY_KEY,
        "idempotency_seconds": REMEMBERED,
    }
)
"""What holds for every front; what a setting can change is added by `GET /v1`."""
