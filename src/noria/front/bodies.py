"""Bodies of requests, judged before they are believed: media type, size, time, depth, form."""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect
from starlette.requests import ClientDisconnect

from noria import aio
from noria.app.options import nearest
from noria.codecs.depth import deeper_than
from noria.codecs.misfit import misfit_of
from noria.front import limits
from noria.front.asked import Asked
from noria.front.problem import Part, Problem, pointer_to

T = TypeVar("T")

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"


async def read_struct(request: Asked, decoder: msgspec.json.Decoder[T], limit: int = limits.BODY) -> T:
    """The body of a request as a value.

    Raises:
        Problem: it is no JSON, not of this form, too large, too deep, or too slow.
    """
    check_media(request, JSON)
    return decode(await read(request, limit), decoder)


async def read_optional(request: Asked, decoder: msgspec.json.Decoder[T]) -> T:
    """As `read_struct`, for verbs that need no body; none is the empty object."""
    if "content-type" in request.fields:
        check_media(request, JSON)
    body = await read(request, limits.BODY)
    if body and "content-type" not in request.fields:
        check_media(request, JSON)
    return decode(body or b"{}", decoder)


def check_media(request: Asked, *allowed: str) -> str:
    """The media type of the body; only these, since a page of another origin cannot send them unasked."""
    found = request.fields.get("content-type", "").partition(";")[0].strip().lower()
    if found not in allowed:
        raise Problem(
            "unsupported_media",
            f"send Content-Type: {' or '.join(allowed)}",
            headers={"Accept": ", ".join(allowed)},
        )
    return found


async def read(request: Asked, limit: int) -> bytes:
    """The body of a request.

    Raises:
        Problem: it is compressed, longer than `limit` bytes, or takes too long to arrive.
    """
    if request.fields.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise Problem(
            "unsupported_media",
            "send the body as it is, without Content-Encoding",
            headers={"Accept-Encoding": "identity"},
        )
    declared = request.fields.get("content-length", "")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with aio.bounded(limits.READ_TIME):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise _too_large(limit)
                parts.append(part)
    except TimeoutError:
        raise Problem(
            "read_timeout",
            f"the body did not arrive within {limits.READ_TIME:g} s; nothing was done",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise Problem("bad_request", "the body ended too early") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> Problem:
    # The rest of the body is still on its way: nobody will read it.
    return Problem(
        "too_large", f"the body is larger than {limit:,} bytes", limit=limit, headers={"Connection": "close"}
    )


def decode(body: bytes, decoder: msgspec.json.Decoder[T], *, parts: bool = False) -> T:
    """A body as a value. `parts`: what is in it is looked at one by one later.

    Raises:
        Problem: it is no JSON, or not of this form.
    """
    check_depth(body)
    if not parts:
        check_objects(body)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise misfit_problem(error, decoder.type) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Problem("bad_json", f"the body is no JSON: {_why(body, error)}") from None


def _why(body: bytes, error: Exception) -> str:
    # Of half a surrogate pair the decoder says no more than that the text is not over; the other parser takes it.
    if b"\\u" in body and _is_read(body):
        return "it has half of a surrogate pair, such as \\ud800, which is no text"
    return misfit_of(error).words


def check_depth(body: bytes) -> None:
    """Refuse what is nested too deep, before anything parses it."""
    if deeper_than(body, limits.DEPTH):
        raise Problem("bad_json", f"the body is nested more than {limits.DEPTH} levels deep")


def check_objects(body: bytes) -> None:
    """Refuse objects with too many members, or with a name twice: nobody could say which of its values is meant.

    Text that is no JSON is left to whoever parses it.
    """
    if body.count(b":") > 1:
        _is_read(body)


def _is_read(body: bytes) -> bool:
    """Whether the standard library's parser, which alone shows all pairs, can read a text to its end."""
    try:
        _pairs.decode(body.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _check_object(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > limits.MEMBERS:
        raise Problem("bad_json", f"an object in the body has more than {limits.MEMBERS:,} members")
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Problem("bad_json", f"{name!r:.40} is given twice in one object of the body")
        seen.add(name)


_pairs: Final = json.JSONDecoder(object_pairs_hook=_check_object, parse_int=str, parse_float=str)
"""Numbers stay text, since nobody looks at theirs here."""


def _fields_at(kind: Any, path: str) -> tuple[str, ...]:
    """The names that the object may have in which the last step of a path is unknown."""
    for step in path.split(".")[:-1]:
        places = {each.encode_name: each.type for each in _members(kind)}
        kind = next((each for each in _kinds(places.get(step)) if isinstance(each, inspect.StructType)), None)
    return tuple(each.encode_name for each in _members(kind))


def _members(kind: Any) -> tuple[inspect.Field, ...]:
    found = None if kind is None else kind if isinstance(kind, inspect.Type) else inspect.type_info(kind)
    return found.fields if isinstance(found, inspect.StructType) else ()


def _kinds(kind: Any) -> tuple[Any, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def misfit_problem(error: Exception, kind: Any) -> Problem:
    """What a decoder's complaint is to a client."""
    misfit = misfit_of(error)
    pointer = pointer_to(misfit.path)
    if misfit.words == "is not known":
        name = misfit.path.rpartition(".")[2]
        known = _fields_at(kind, misfit.path)
        hint = f"; {nearest(name, known)}" if known else ""
        return Problem(
            "unknown_field", f"field {name!r:.60} is not known{hint}", errors=[Part(pointer, "is not known")]
        )
    return Problem("invalid_value", misfit.of("the body"), errors=[Part(pointer, misfit.words)])
