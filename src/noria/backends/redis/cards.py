"""What a job carries beside its body: how that is encoded, and what its worker needs to know. Most have no card."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from noria.model.job import NO_EXTRAS, Extras


class Card(Struct, array_like=True, frozen=True):
    """A card. `extras`: as JSON; empty if there are none."""

    codec: str = "json"
    extras: bytes = b""


_USUAL = Card()
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Card).decode
_encode_extras = msgspec.json.Encoder().encode
_decode_extras = msgspec.json.Decoder(Extras).decode


def write_card(codec: str, extras: Extras) -> bytes:
    """A card as it is stored; empty for the usual one.

    Raises:
        ValueError: it cannot be stored, or would not read back.
    """
    if extras is NO_EXTRAS and codec == "json":
        return b""
    if "\0" in codec:
        raise ValueError("its codec has a NUL in it")
    return _encode(Card(codec, b"" if extras is NO_EXTRAS else _checked(extras)))


def read_card(stored: bytes | None) -> tuple[str, Extras]:
    """Codec and extras.

    What a version of ours cannot read must not keep the job from being leased, seen or cancelled.
    """
    card = _USUAL if stored is None else _decode(stored)
    try:
        return card.codec, _decode_extras(card.extras) if card.extras else NO_EXTRAS
    except msgspec.DecodeError:
        return card.codec, NO_EXTRAS


def _checked(extras: Extras) -> bytes:
    encoded = _encode_extras(extras)
    try:
        _decode_extras(encoded)
    except msgspec.DecodeError as error:
        raise ValueError(f"its extras do not fit their types: {error}") from error
    return encoded
