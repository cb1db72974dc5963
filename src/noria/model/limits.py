"""The numbers that hold unless a setting says otherwise, in one place."""

from __future__ import annotations

from typing import Final

MIB: Final = 1024 * 1024

MAX_BODY: Final = MIB
MAX_RESULT: Final = MIB
MAX_DEPTH: Final = 64
MAX_LISTED: Final = 64 * 1024
"""Bytes of a body or result that still go along in a list; larger ones are read one by one."""
MAX_DOC: Final = 64 * 1024
"""Bytes of one small document."""
MAX_FOLLOW_UPS: Final = 1_000
"""Follow-ups of one job; they are stored in the step that records its outcome."""
MAX_AFTER: Final = 1_000
"""Jobs that one job waits for."""
MAX_FOLLOW_UP_BYTES: Final = 2 * MIB
"""Bytes of the arguments of all follow-ups of one job."""
MAX_CHECKPOINT: Final = 64 * 1024
"""Bytes that a start leaves for the next one of its job."""
MAX_ITEM: Final = 16 * 1024
"""Bytes of one partial result."""
MAX_EMITTED: Final = 1_000
"""Partial results that are kept of a job, the newest."""
MAX_NOTE: Final = 500
"""Characters that say how far a job has come."""
MAX_QUESTION: Final = 2_000
"""Characters of what a job asks."""
MAX_ANSWER: Final = 16 * 1024
"""Bytes of an answer, as JSON; of its schema too."""
MAX_ASKING: Final = 1_000
"""Jobs of one worker that ask at the same time; more wait until one of these was answered."""
ASK_FOR: Final = 300.0
"""Seconds for which a question is open."""
CLOSED_FOR: Final = 24 * 3600.0
"""Seconds for which it is known what became of a question."""
MAX_BATCH: Final = 1_000
"""Rows that one statement promotes, returns, expires or prunes at most."""

MAX_ITEMS: Final = 1_000
"""Items of the list of a job to which others are merged, unless it says otherwise."""

ATTEMPTS: Final = 5
CRASH_BUDGET: Final = 3
SUSPECT_AT: Final = 2
"""From this many crashes on, a job runs apart from other suspects and is never buffered."""

MAX_RELEASES: Final = 100_000
MAX_SNOOZES: Final = 10_000
"""Uncounted starts have caps of their own, so that nothing loops for ever."""

TTL: Final = 10.0
BEAT: Final = 2.5
GRACE: Final = 30.0
POLL: Final = 1.0
PARK_FOR: Final = 24 * 3600.0
AGEING: Final = 3600.0
"""Seconds of waiting that are worth one step of priority."""

KEEP_SUCCEEDED: Final = 24 * 3600.0
KEEP_SUCCEEDED_AT_MOST: Final = 1_000_000
FLOW_FOR: Final = 24 * 3600.0
"""Seconds for which it is kept how many jobs came and went in each minute."""
KEEP_DEAD: Final = 14 * 24 * 3600.0

MAX_PRIORITY: Final = 1_000
"""What a backend takes; people choose from -9 to 9."""
MAX_DELAY: Final = 100 * 365 * 24 * 3600.0
MAX_LOG: Final = 50
"""Ended starts that a job remembers; the oldest are dropped first, and how many is recorded."""
MAX_MESSAGE: Final = 2_000
MAX_TRACEBACK: Final = 16_000
MAX_HINT: Final = 4_096
