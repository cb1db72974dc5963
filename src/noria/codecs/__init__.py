"""How arguments and results become bytes, and how bytes from anywhere are judged before they are believed."""

from noria.codecs.contract import Codec, Decode
from noria.codecs.misfit import Misfit, Oversize
from noria.codecs.registry import DEFAULT, find_codec

__all__ = ["DEFAULT", "Codec", "Decode", "Misfit", "Oversize", "find_codec"]
