"""When a failed job runs again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from noria.errors import InvalidOption, shown

Chance = Callable[[], float]
"""Gives a random float in [0, 1)."""


class Backoff(Struct, frozen=True, omit_defaults=True):
    """Waits that double with every attempt, spread at random so that failures do not come back as one wave.

    Args:
        base: seconds before the second attempt.
        cap: the longest wait, in seconds.
        factor: how much longer each wait is than the one before.
        jitter: "full" draws the wait evenly from 0 to its bound (the AWS Architecture Blog's "full jitter");
            "none" takes the bound itself.
        never: exception classes after which the job is not tried again; only for a task, since a job in a
            backend carries no code.

    Raises:
        InvalidOption: a number is out of range, or `never` is no tuple of exception classes.
    """

    base: float = 1.0
    cap: float = 600.0
    factor: float = 2.0
    jitter: Literal["full", "none"] = "full"
    never: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        _check("base", self.base, 0.0)
        _check("cap", self.cap, 0.0)
        _check("factor", self.factor, 1.0)
        if self.jitter not in ("full", "none"):
            raise InvalidOption(
                f"jitter must be 'full' or 'none', not {shown(self.jitter)}", field="retry.jitter"
            )
        if not isinstance(self.never, tuple) or not all(_is_exception(each) for each in self.never):
            raise InvalidOption("never must be a tuple of exception classes", field="retry.never")

    def wait(self, spent: int, chance: Chance) -> float:
        """Seconds to wait after the `spent`-th attempt that counted (1 for the first)."""
        try:
            bound = min(self.cap, self.base * self.factor ** (max(spent, 1) - 1))
        except OverflowError:
            bound = self.cap if self.base else 0.0
        return bound * chance() if self.jitter == "full" else bound

    def refuses(self, error: BaseException) -> bool:
        """Whether a job that raised `error` must not be tried again."""
        return isinstance(error, self.never)


def _is_exception(each: object) -> bool:
    return isinstance(each, type) and issubclass(each, BaseException)


def _check(field: str, value: object, least: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value < 1e12:  # type: ignore[operator]  # a number by now
        raise InvalidOption(
            f"{field} must be a number of at least {least:g}, not {shown(value)}", field=f"retry.{field}"
        )
