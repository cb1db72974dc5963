"""What a request says about a job to enqueue."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType, field

from noria.model.claim import OnConflict
from noria.model.unique import Unique


class RetryWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """The waits between attempts; as `noria.Backoff`."""

    base: float = 1.0
    cap: float = 600.0
    factor: float = 2.0
    jitter: Literal["full", "none"] = "full"


class UniqueWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """At most one job of the task has a key; as `noria.Unique`. `return` is another word for `existing`."""

    key: str = ""
    by: str | list[str] = ""
    while_: Literal["live", "queued"] | None = field(default=None, name="while")
    within: float | None = None
    on_conflict: Literal["existing", "return", "reject", "replace", "keep_last", "merge"] = "existing"
    at_most: float | None = None
    argument: str = ""
    max_items: int | None = None

    def unique(self) -> Unique:
        """The same in Python.

        Raises:
            InvalidOption: a field is out of range, or two contradict.
        """
        by = self.by if isinstance(self.by, str) else tuple(self.by)
        conflict: OnConflict = "existing" if self.on_conflict == "return" else self.on_conflict
        return Unique(
            self.key,
            by=by,
            while_=self.while_,
            within=self.within,
            on_conflict=conflict,
            at_most=self.at_most,
            argument=self.argument,
            max_items=self.max_items,
        )


class GroupWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """The group of a job, whatever its arguments say."""

    family: str
    key: str


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
    unique: str | UniqueWanted | UnsetType | None = UNSET
    keep: float | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET
    after: list[str] | str | UnsetType = UNSET
    on: Literal["success", "complete", "failure"] | UnsetType = UNSET
    group: GroupWanted | UnsetType | None = UNSET
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
