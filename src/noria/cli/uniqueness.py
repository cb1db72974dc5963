"""How a job is unique, from the flags of a command, and as REST says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, get_args

import click
from msgspec import structs

from noria.cli.flags import SECONDS, option
from noria.errors import InvalidInput
from noria.front.requests import UniqueWanted
from noria.model.claim import OnConflict
from noria.model.unique import Unique, While

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: Final = (
    option(
        "--unique", metavar="KEY", help="At most one job of the task has this key: while it is live, usually."
    ),
    option(
        "--unique-by", multiple=True, metavar="ARGUMENT", help="The key is made of this argument; may repeat."
    ),
    option(
        "--unique-while",
        type=click.Choice(get_args(While)),
        help="For how long: live, or queued: until it starts.",
    ),
    option("--unique-within", type=SECONDS, help="For so long from now, whatever becomes of it: 60, 5m."),
    option(
        "--on-conflict",
        type=click.Choice(get_args(OnConflict)),
        help="If the key is taken: existing, reject, replace, keep_last (debounce), merge.",
    ),
    option("--at-most", type=SECONDS, help="With keep_last: put off no more after so long."),
    option("--merge-argument", metavar="NAME", help="With merge: the argument that is a list."),
    option("--max-items", type=int, help="With merge: items of that list, at most."),
)


def unique_options(command: F) -> F:
    """The flags of a command that enqueues."""
    for each in reversed(_FLAGS):
        command = each(command)
    return command


def unique_of(
    *,
    unique: str | None = None,
    unique_by: Sequence[str] = (),
    unique_while: While | None = None,
    unique_within: float | None = None,
    on_conflict: OnConflict | None = None,
    at_most: float | None = None,
    merge_argument: str | None = None,
    max_items: int | None = None,
    **others: Any,
) -> tuple[str | Unique | None, dict[str, Any]]:
    """How a job is unique, by these flags, and the other flags.

    Raises:
        InvalidInput: they contradict.
    """
    more = (unique_while, unique_within, on_conflict, at_most, merge_argument, max_items)
    if not unique_by and all(each is None for each in more):
        return unique, others
    if not (unique or unique_by):
        raise InvalidInput("say of which key: --unique KEY, or --unique-by ARGUMENT", field="unique")
    by = unique_by[0] if len(unique_by) == 1 else tuple(unique_by)
    return (
        Unique(
            unique or "",
            by=by,
            while_=unique_while,
            within=unique_within,
            on_conflict=on_conflict or "existing",
            at_most=at_most,
            argument=merge_argument or "",
            max_items=max_items,
        ),
        others,
    )


def as_rest(unique: str | Unique) -> dict[str, Any]:
    """The same as a front takes it."""
    if isinstance(unique, str):
        return {"key": unique}
    names = {each.name: each.encode_name for each in structs.fields(UniqueWanted)}
    given = {encoded: getattr(unique, name) for name, encoded in names.items()}
    return {name: value for name, value in given.items() if value not in (None, "", ())}
