"""Answers to changes, and how a change is recorded in the row of a job."""

from __future__ import annotations

import hashlib

from msgspec import structs, to_builtins

from noria.backends.contract import Altered, Change
from noria.backends.sql.rows import Altering, encode
from noria.model.state import State

Answers = dict[str, Altered]
"""By the id of the job, as hex."""


def done(state: int) -> Altered:
    """It is as was asked."""
    return Altered("done", State(state))


def refused(row: Altering) -> Altered:
    """Its state does not allow it."""
    return Altered("refused", State(row.state))


def asked(change: Change, now: int) -> str:
    """A cancel that the worker was told of, for the record, with the time of asking in milliseconds."""
    return encode({**to_builtins(change), "asked": now})


def changed(change: Change) -> str:
    """A change for the record, by which its repetition is known. A new body is in the row itself, here its digest."""
    if change.body is None:
        return encode(change)
    digest = hashlib.blake2b(change.body, digest_size=16).hexdigest()
    return encode({**to_builtins(structs.replace(change, body=None)), "body": digest})
