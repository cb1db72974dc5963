"""The codecs there are, by name."""

from __future__ import annotations

from typing import Final

from noria.codecs.contract import Codec
from noria.codecs.json import Json
from noria.codecs.misfit import Misfit

DEFAULT: Final[Codec] = Json()

_ALL: Final[dict[str, Codec]] = {each.name: each for each in (DEFAULT,)}


def find_codec(name: str) -> Codec:
    """The codec of this name.

    Raises:
        Misfit: there is none; the bytes came from a newer version, or from somebody else.
    """
    found = _ALL.get(name)
    if found is None:
        raise Misfit(
            f"is encoded as {name!r:.40}, which this version cannot read; it reads {', '.join(_ALL)}"
        )
    return found
