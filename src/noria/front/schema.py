"""Values against JSON schema, for tasks whose code is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import msgspec
from jsonschema_rs import ValidationErrorKind

from noria.front.problem import Part, pointer_to

Check = Callable[[bytes], Iterable[Part]]
"""Says what is wrong with a JSON text; nothing is."""

_MOST: Final = 20
"""Complaints about one value."""
_LONGEST: Final = 200
_BACKTRACKS: Final = 100_000
"""Steps that a pattern may go back before it counts as not matched: patterns are data, and so are values."""


def check_by(schema: dict[str, Any]) -> Check:
    """A check by a schema, which is read from nowhere else: no reference leaves it.

    Raises:
        ValueError: it is no schema.
    """
    validator = jsonschema_rs.Draft202012Validator(
        schema,
        offline=True,
        validate_formats=True,
        mask="the value",
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
    )

    def check(body: bytes) -> Iterator[Part]:
        try:
            value = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            yield Part("", f"is no JSON: {error}"[:_LONGEST])
            return
        for found in islice(validator.iter_errors(value), _MOST):
            yield _part(found)

    return check


def _part(error: jsonschema_rs.ValidationError) -> Part:
    path = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.instance_path)
    match error.kind:
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            return Part(path + pointer_to(str(names[0])), "is not known")
        case ValidationErrorKind.Required(property=name):
            return Part(path + pointer_to(str(name)), "is missing")
        case _:
            return Part(path, error.message[:_LONGEST])
