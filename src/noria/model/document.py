"""Small documents: what is known beside the jobs."""

from __future__ import annotations

from msgspec import Struct

Version = int
"""The version of a document: rises with each write of its name, and no two documents of a name ever have the same."""


class Doc(Struct, frozen=True):
    """A small document: what is known beside the jobs, such as an idempotency key or an operation in progress.

    Attributes:
        kind, name: together its address. `kind` is a word that the writer chooses for all documents of one sort.
        version: of this content.
        data: the content; at most 64 KiB, not looked into.
        expires: seconds since the epoch after which it is not there any more; None is never.
    """

    kind: str
    name: str
    version: Version
    data: bytes
    expires: float | None = None


class DocWrite(Struct, frozen=True):
    """A document to write or delete.

    Attributes:
        kind: 1 to 64 printable characters; name: 1 to 512.
        data: the content; None deletes the document.
        if_version: write only if its version is this; 0 if there is none, None whatever there is.
        ttl: seconds after which it vanishes; None is never.
    """

    kind: str
    name: str
    data: bytes | None
    if_version: Version | None = None
    ttl: float | None = None
