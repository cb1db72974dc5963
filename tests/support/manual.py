"""A clock that stands still until it is moved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ManualClock:
    """Both times of a process, in the hands of a test."""

    wall_now: float = 1_800_000_000.0
    mono_now: float = 1_000.0

    def wall(self) -> float:
        return self.wall_now

    def monotonic(self) -> float:
        return self.mono_now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.wall_now += seconds
        self.mono_now += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock, as an operator or a time server does; the monotonic clock does not notice."""
        self.wall_now += seconds

    def show(self, wall: float, mono: float) -> None:
        """Copy the times of another clock."""
        self.wall_now, self.mono_now = wall, mono
