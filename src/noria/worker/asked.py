"""What a handler asks, checked and described, and what it gets back."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct

from noria import ids
from noria.codecs import DEFAULT
from noria.codecs.flat import flaws, schema_of
from noria.errors import InvalidAnswer, InvalidOption, shown
from noria.model.job import Lease
from noria.model.limits import MAX_ANSWER, MAX_QUESTION
from noria.model.names import check_text
from noria.model.question import OnExpiry, Question

T = TypeVar("T")

_LONGEST: Final = 365 * 86_400.0


class PreviousAnswer(Struct, frozen=True):
    """An answer that came when the start that had asked was over.

    Attributes:
        message, name: what was asked.
        data: the answer, as JSON has it.
    """

    message: str
    name: str
    data: Any

    def convert(self, schema: type[T]) -> T:
        """The answer as a value of a type.

        Raises:
            InvalidAnswer: it does not fit.
        """
        return _value(self.data, schema)


def question(
    lease: Lease,
    message: str,
    schema: Any,
    timeout: float,
    secret: bool,
    default: Any,
    on_expiry: OnExpiry | None,
    name: str,
    now: float,
) -> Question:
    """Describe what a handler asks; who asks it gives it its id, its session and its time.

    Raises:
        InvalidOption: something about it is wrong.
    """
    wanted = schema_of(schema)
    if not isinstance(message, str) or not 0 < len(message) <= MAX_QUESTION:
        raise InvalidOption(f"a question is a text of 1 to {MAX_QUESTION:,} characters", field="message")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not 0 < timeout <= _LONGEST:
        raise InvalidOption(
            f"timeout must be more than 0 seconds and at most a year, not {shown(timeout)}", field="timeout"
        )
    if name:
        check_text("name", name, 128)
    ready = UNSET if default is UNSET else _plain(default, wanted)
    then = on_expiry or ("fail" if ready is UNSET else "default")
    if then not in ("fail", "default", "decline") or (then == "default" and ready is UNSET):
        raise InvalidOption(
            f'on_expiry must be "fail", "decline", or "default" with a default, not {shown(on_expiry)}',
            field="on_expiry",
        )
    return Question(
        id="",
        job=ids.to_text(lease.id),
        task=lease.task,
        queue=lease.queue,
        session=0,
        starts=lease.starts,
        message=message.encode("utf-8", "backslashreplace").decode(),
        schema=wanted,
        created=now,
        expires=now + timeout,
        name=name,
        secret=bool(secret),
        on_expiry=then,
        default=ready,
        supersedes=lease.asked,
    )


def _plain(default: Any, schema: dict[str, Any]) -> Any:
    try:
        plain = msgspec.json.decode(DEFAULT.encode(default, MAX_ANSWER))
    except Exception as error:
        raise InvalidOption(f"default={shown(default)} cannot be written as JSON", field="default") from error
    if flaws(schema, plain):
        raise InvalidOption(f"default={shown(default)} does not fit the schema", field="default")
    return plain


async def typed(answer: Awaitable[Any], schema: type[T]) -> T:
    """An answer as a value of the type that was asked for."""
    return _value(await answer, schema)


def _value(data: Any, schema: type[T]) -> T:
    try:
        value: T = DEFAULT.decoder(schema, None)(msgspec.json.encode(data))
    except Exception as error:
        raise InvalidAnswer(f"the answer is no {getattr(schema, '__name__', schema)}") from error
    return value
