"""What is known about the end of a process, in one sentence, which goes into the failure of its jobs."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from noria.backends.contract import Evidence


def story(evidence: Evidence | None) -> str:
    """The sentence."""
    if evidence is None:
        return "its worker's process ended while the job ran"
    details: Sequence[str] = [
        f"on {evidence.host}" if evidence.host else "",
        f"process {evidence.pid}" if evidence.pid else "",
        "" if evidence.exit_code is None else f"exit code {evidence.exit_code}",
        "" if evidence.signal is None else f"signal {evidence.signal} ({_signal_name(evidence.signal)})",
        "" if evidence.memory is None else f"{evidence.memory // 1024 // 1024} MiB of memory",
    ]
    known = ", ".join(detail for detail in details if detail)
    return f"{evidence.cause} ({known})" if known else evidence.cause


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
