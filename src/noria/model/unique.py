"""Unique keys as people say them: of which job there is at most one, for how long, and what becomes of others."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from typing import Any, Final, Literal, get_args

import msgspec

from noria.errors import InvalidOption, shown
from noria.model.claim import Claim, OnConflict
from noria.model.limits import MAX_DELAY, MAX_ITEMS
from noria.model.names import MAX_KEY, check_text

While = Literal["live", "queued"]

_MOST_ITEMS: Final = 100_000
_SHORTEST: Final = 0.001
_PATHS: Final = 8
_anything: Final = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class Unique:
    """At most one job of a task has a key: for how long, and what becomes of a job that finds it taken.

    Attributes:
        key: any text of up to 512 characters; another task may use the same.
        by: instead of a key, the arguments of which it is made: a name, a path such as "order.id", or several.
        while_: "live": as long as the job has not ended; "queued": until it was started, for good. Left out, it is
            "queued" where the newest arguments must not be lost (replace, keep_last, merge), and else "live".
        within: instead of `while_`, so many seconds from the enqueue, whatever becomes of the job, as long as its
            record is kept.
        on_conflict: "existing": the job that has the key stands for the new one; "reject": `DuplicateJob` is raised;
            "replace": the one that waits is cancelled, and the new one is stored; "keep_last": the one that waits gets
            the arguments and the time of the new one (debounce); "merge": the one that waits gets the items of the new
            one's list. A job that does not wait any more stands, as with "existing".
        at_most: keep_last: seconds since the waiting job was enqueued, after which it is put off no more.
        argument: merge: the name of the argument that is a list.
        max_items: merge: how many items it may have, at most; further ones begin a new job.

    Raises:
        InvalidOption: a field is out of range, or two contradict.
    """

    key: str = ""
    _: KW_ONLY
    by: str | tuple[str, ...] = ()
    while_: While | None = None
    within: float | None = None
    on_conflict: OnConflict = "existing"
    at_most: float | None = None
    argument: str = ""
    max_items: int | None = None

    def __post_init__(self) -> None:
        self._check_key()
        if self.while_ not in (None, "live", "queued"):
            raise _refusal("while_", "'live' or 'queued'", self.while_)
        if self.on_conflict not in get_args(OnConflict):
            raise _refusal(
                "on_conflict", "one of " + ", ".join(map(repr, get_args(OnConflict))), self.on_conflict
            )
        if self.while_ is not None and self.within is not None:
            raise InvalidOption(
                "while_ and within both say for how long a key is taken; give one", field="within"
            )
        _check_seconds("within", self.within)
        _check_seconds("at_most", self.at_most)
        self._check_rules()

    def _check_key(self) -> None:
        if bool(self.key) == bool(self.by):
            raise InvalidOption(
                "a unique job has a key, or the arguments `by` which it is unique: give one", field="key"
            )
        if not self.by:
            check_text("key", self.key, MAX_KEY)
        elif len(self.paths) > _PATHS or not all(isinstance(path, str) and path for path in self.paths):
            raise _refusal("by", f"the name of an argument, or up to {_PATHS}", self.by)

    def _check_rules(self) -> None:
        if self.at_most is not None and self.on_conflict != "keep_last":
            raise InvalidOption("at_most is for on_conflict='keep_last' alone", field="at_most")
        if self.on_conflict != "merge" and (self.argument or self.max_items is not None):
            raise InvalidOption("argument and max_items are for on_conflict='merge' alone", field="argument")
        if self.on_conflict == "merge" and not (isinstance(self.argument, str) and self.argument):
            raise InvalidOption(
                "on_conflict='merge' wants the argument that is a list, by its name", field="argument"
            )
        items = self.max_items
        if items is not None and (isinstance(items, bool) or not 1 <= items <= _MOST_ITEMS):
            raise _refusal("max_items", f"a whole number from 1 to {_MOST_ITEMS}", items)

    @property
    def paths(self) -> tuple[str, ...]:
        """The arguments of which the key is made; none if it is given."""
        return (self.by,) if isinstance(self.by, str) else tuple(self.by)

    @property
    def names(self) -> set[str]:
        """The arguments that must be there."""
        return {path.partition(".")[0] for path in self.paths if path} | ({self.argument} - {""})

    @property
    def claim(self) -> Claim | None:
        """All but the key, as a job carries it; None if it is the usual."""
        claim = Claim(
            until_start=(self.while_ or self._usual) == "queued" and self.within is None,
            within=self.within,
            on_conflict=self.on_conflict,
            at_most=self.at_most,
            argument=self.argument,
            max_items=MAX_ITEMS if self.max_items is None else self.max_items,
        )
        return None if claim == Claim() else claim

    @property
    def _usual(self) -> While:
        return "live" if self.on_conflict in ("existing", "reject") else "queued"

    def key_of(self, body: bytes) -> str:
        """The key of a job with these arguments, encoded as JSON by name.

        Raises:
            InvalidOption: an argument is not given.
        """
        if self.key:
            return self.key
        arguments = _anything.decode(body)
        values = [_at(arguments, path) for path in self.paths]
        value = values[0] if len(values) == 1 else values
        text = (
            value if isinstance(value, str) and value else msgspec.json.encode(value, order="sorted").decode()
        )
        if len(text) <= MAX_KEY and text.isprintable():
            return text
        return "#" + blake2b(text.encode(errors="surrogatepass"), digest_size=32).hexdigest()


def _at(arguments: Any, path: str) -> Any:
    """What stands at a path."""
    found = arguments
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            raise InvalidOption(
                f"the unique key is made of the argument {shown(path)}, which is not given", field="unique"
            )
        found = found[name]
    return found


def _check_seconds(field: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not _SHORTEST <= value <= MAX_DELAY:
        raise _refusal(field, f"seconds, from {_SHORTEST:g} to {MAX_DELAY:.0f}", value)


def _refusal(field: str, wanted: str, value: object) -> InvalidOption:
    return InvalidOption(f"{field} of a unique key must be {wanted}, not {shown(value)}", field=field)
