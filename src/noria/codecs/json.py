"""JSON: the default codec, readable by people and by every other language."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from noria.codecs.contract import Decode
from noria.codecs.depth import deeper_than
from noria.codecs.faithful import write_model
from noria.codecs.misfit import Misfit, Oversize, culprit_of, misfit_of
from noria.codecs.models import dump_model, load_model
from noria.model.limits import MAX_DEPTH

_DEEP: Final = f"is nested more than {MAX_DEPTH} levels deep"


class Json:
    """JSON by msgspec, with what JSON itself leaves open decided.

    NaN and infinity are refused, since JSON has no word for them, and so are dicts with keys that JSON cannot tell
    apart, as 1 and "1". Integers survive beyond 64 bits. Bytes are base64 text, dates and times RFC 3339 and ISO 8601
    text, Decimal and UUID text, sets and tuples lists; a type annotation turns each back. Without one, values arrive
    as JSON has them. A pydantic model is refused if what it writes does not make an equal one.
    """

    name: Final = "json"

    def encode(self, value: object, limit: int) -> bytes:
        """As `Codec.encode`."""
        try:
            body = _encode(value)
        except RecursionError:
            raise Misfit("contains itself, or is nested hundreds of levels deep") from None
        except Misfit:
            raise
        except Exception as error:  # also whatever a class of the user raises while it is read
            raise _unwritable(error) from error
        if len(body) > MAX_DEPTH:
            _check_size(body, limit)
        # Where a NaN was written there is a null; most bodies have none, and are not searched.
        if b"null" in body and _has_nonfinite(msgspec.to_builtins(value, enc_hook=dump_model)):
            raise Misfit("holds NaN or infinity, for which JSON has no word; use None or text")
        if (isinstance(value, dict) or body.find(b"{", 1) > 0) and _loses_keys(value, body):
            raise Misfit("holds a dict with keys that are the same text in JSON; use keys of one type")
        return body

    def decoder(self, shape: Any, limit: int | None) -> Decode:
        """As `Codec.decoder`."""
        decode = msgspec.json.Decoder(shape, dec_hook=load_model).decode

        def checked(body: bytes) -> Any:
            # What has fewer bytes than levels are allowed is neither too large nor too deep.
            if limit is not None and len(body) > MAX_DEPTH:
                _check_size(body, limit)
            try:
                return decode(body)
            except Exception as error:  # noqa: BLE001 - also whatever a class of the user raises in it
                raise misfit_of(error) from culprit_of(error)

        return checked


_encode: Final = msgspec.json.Encoder(enc_hook=write_model).encode


def _check_size(body: bytes, limit: int) -> None:
    if len(body) > limit:
        raise Oversize(f"is {len(body):,} bytes as JSON; at most {limit:,} are allowed")
    if deeper_than(body, MAX_DEPTH):
        raise Oversize(_DEEP)


def _unwritable(error: Exception) -> Misfit:
    if isinstance(error, UnicodeError):
        return Misfit("holds text that is not valid Unicode (a lone surrogate)")
    if isinstance(error, ValueError) and "digits" in str(error):
        return Misfit("holds an integer of too many digits")
    words = str(error) if isinstance(error, TypeError) and error.__cause__ is None else type(error).__name__
    return Misfit(f"cannot be written as JSON: {words:.200}")


def _loses_keys(value: object, body: bytes) -> bool:
    """Whether entries of a dict would overwrite each other when they are read: what is written again is shorter."""
    if len(_encode(msgspec.json.decode(body))) == len(body):
        return False
    try:
        msgspec.to_builtins(value, enc_hook=dump_model)
    except TypeError:  # it holds msgspec.Raw, which may be spaced as it likes
        return False
    return True


def _has_nonfinite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_nonfinite, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(_has_nonfinite, value))
