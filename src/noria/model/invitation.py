"""A link that lets whoever holds it answer one question: what it carries, and how that is told from a guess.

Its token is the id of the question and an HMAC of that, 128 bits of it, by a key that only the store has. So no token
is kept anywhere: whoever has the store can make the one of any question, and nobody else can make one. A token is worth
what its question is: once that is answered, over or asked anew, it opens nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from noria import ids
from noria.ids import Id

PATH: Final = "/answer/"
"""Where a front takes answers by link; the token follows."""
KEY_SIZE: Final = 32
_ID: Final = 16
_PROOF: Final = 16
_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def token_of(key: bytes, question: str) -> str:
    """The token of a question's link: 43 characters that need no quoting. `question`: its id, as text."""
    id = ids.from_text(question)
    return urlsafe_b64encode(id + _proof(key, id)).decode().rstrip("=")


def question_of(key: bytes, token: str) -> str | None:
    """The id of the question for which a token was made, as text; None if it was not made with this key."""
    if not _FORM.fullmatch(token):
        return None
    told = urlsafe_b64decode(token + "=")
    id, proof = Id(told[:_ID]), told[_ID:]
    # The last character has two bits to spare: of all that say the same, one is the token.
    exact = hmac.compare_digest(urlsafe_b64encode(told).rstrip(b"="), token.encode())
    good = hmac.compare_digest(proof, _proof(key, id))
    return ids.to_text(id) if good and exact else None


def _proof(key: bytes, id: Id) -> bytes:
    return hmac.digest(key, b"noria answer " + id, hashlib.sha256)[:_PROOF]
