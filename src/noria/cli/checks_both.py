"""What `noria doctor` asks of every server: its clock, and how far away it is."""

from __future__ import annotations

from typing import Final

from noria.cli.finding import Finding, ok, warning
from noria.cli.quantities import duration

_APART: Final = 2.0
"""Seconds by which clocks may differ before times in lists and logs mislead."""
_SLOW: Final = 0.02
"""Seconds from which on the way to a server decides how long everything takes."""


def check_clock(ahead: float) -> Finding:
    """Delays and deadlines are judged by the server's clock; lists show times beside that of this machine.

    Args:
        ahead: seconds by which the server's clock is ahead of ours.
    """
    if abs(ahead) < _APART:
        return ok("clock", f"{abs(ahead):.1f} s apart from the server's")
    side = "ahead of" if ahead > 0 else "behind"
    fix = "set both clocks by NTP; delays and deadlines go by the server's"
    return warning("clock", f"the server's is {duration(abs(ahead))} {side} this machine's", fix)


def check_latency(seconds: float) -> Finding:
    """How long a call takes that does nothing."""
    text = f"{seconds * 1000:.1f} ms for a call"
    if seconds < _SLOW:
        return ok("latency", text)
    return warning("latency", text, "run workers near the server, and see that it is not overloaded")
