"""What a request says about a job to enqueue."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType


class RetryWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """The waits between attempts; as `noria.Backoff`."""

    base: float = 1.0
    cap: float = 600.0
    factor: float = 2.0
    jitter: Literal["full", "none"] = "full"


class UniqueWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """While a job of this task with the same key is live, it stands for further ones."""

    key: str
    on_conflict: Literal["return", "reject"] = "return"


class Wanted(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A job to enqueue, by itself or among others. What is left out is as the task says."""

    task: str
    args: Raw | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    delay: float | UnsetType = UNSET
    run_at: datetime | UnsetType = UNSET
    expires_at: datetime | UnsetType = UNSET
    deadline_at: datetime | UnsetType = UNSET
    timeout: float | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    crashes: int | UnsetType = UNSET
    retry: RetryWanted | UnsetType = UNSET
    unique: UniqueWanted | UnsetType = UNSET
    keep: float | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET
    park: bool = False
    cancel_on_disconnect: bool = False


class JobWanted(Wanted, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A job to enqueue."""

    id: str | UnsetType = UNSET


class ItemWanted(Wanted, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A job of a batch."""

    idempotency_key: str | UnsetType = UNSET


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No body, or an empty object."""


OPTIONS: dict[str, str] = {"run_at": "at", "expires_at": "expires", "deadline_at": "deadline"}
"""Fields that Python calls otherwise."""
_OTHERS = frozenset({"task", "args", "park", "cancel_on_disconnect", "idempotency_key", "retry", "unique"})


def said(wanted: Struct) -> dict[str, Any]:
    """The options of a job that a request names, under their names in Python."""
    found = {
        OPTIONS.get(name, name): value
        for name in wanted.__struct_fields__
        if name not in _OTHERS and (value := getattr(wanted, name)) is not UNSET
    }
    return found
