"""What a server's errors mean to a caller: each becomes one of Noria's, with the server's address and the remedy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hiredis import ReplyError

from noria.backends.redis.address import Address
from noria.errors import ConfigError, NoriaError, Unavailable, Unknown

EPOCH: Final = "NORIAEPOCH"

_FULL: Final = "max number of clients"
_NO_ROOM: Final = "it has as many connections as it may: raise its maxclients, or end programs that hold some"

_REMEDIES: Final = (
    (f"ERR {_FULL}", _NO_ROOM),
    (
        "OOM",
        "its memory is full, so that it takes no new jobs; workers go on, and make room as records are pruned: "
        "raise maxmemory, or keep fewer records",
    ),
    ("LOADING", "it is loading its data, and will serve soon"),
    ("BUSY", "a script of another program keeps it busy: look at `redis-cli info clients` and SLOWLOG"),
    ("READONLY", "it is a replica, which takes no writes: name the primary in NORIA_URL"),
    ("MASTERDOWN", "it is a replica that has lost its primary: name the primary in NORIA_URL"),
    ("MISCONF", "it cannot save to its disk, and takes no writes until it can: look into its log"),
    ("NOREPLICAS", "it has fewer replicas than min-replicas-to-write asks for: bring them back"),
    (EPOCH, "its data are not those that this process knew: everything that was stored is lost"),
)

CLUSTER: Final = (
    "it is a cluster, over which the jobs of one namespace cannot be spread: "
    "name a server without cluster mode"
)

_OURS_TO_MEND: Final = (
    ("NOAUTH", "it asks for a password: put it into NORIA_URL, as in redis://:PASSWORD@HOST"),
    ("WRONGPASS", "it refuses the user or the password in NORIA_URL"),
    ("ERR invalid password", "it refuses the password in NORIA_URL"),
    ("ERR AUTH", "it refuses the user or the password in NORIA_URL"),
    ("ERR DB index", "it has no database of this number: leave the number out of NORIA_URL"),
    ("CLUSTERDOWN", CLUSTER),
    ("MOVED", CLUSTER),
    ("CROSSSLOT", CLUSTER),
    ("ERR unknown command", "it lacks a command that Noria needs: use Redis 7.0 or newer"),
)

_IN_A_SCRIPT: Final = ("The user executing the script", "ACL failure in script")
"""How versions of the server say that a script, which may have written something, came to what its user may not do."""


def refused(error: ReplyError, address: Address) -> NoriaError:
    """The error that a caller of the backend sees for an answer that is one: the call was not done."""
    text = str(error)
    if any(words in text for words in _IN_A_SCRIPT):
        return Unknown(f"{forbidden(address)} The call may be done in part ({text[:80]})")
    if text.startswith("WRONGTYPE"):
        what = f"{foreign(address)} ({text[:80]})"
        return Unknown(f"{what}; the call may be done in part") if " script: " in text else ConfigError(what)
    if "NOPERM" in text:
        return ConfigError(f"{forbidden(address)} It says: {text[:120]}")
    for word, remedy in _OURS_TO_MEND:
        if text.startswith(word):
            return ConfigError(f"{address.shown}: {remedy}")
    for word, remedy in _REMEDIES:
        if text.startswith(word):
            return Unavailable(f"{address.shown}: {remedy} ({text[:80]})")
    # A script of ours that fails in its middle has written something: nobody knows how much.
    return Unknown(f"{address.shown}: a command failed: {text[:300]}")


def forbidden(address: Address, what: Collection[str] = ()) -> str:
    """What is said about a server whose access rules forbid its user what Noria needs: these commands, if known."""
    name = address.namespace
    of_what = f" ({', '.join(what)} in namespace {name!r})" if what else ""
    user = address.username or "default"
    return (
        f"{address.shown}: its access rules forbid what Noria needs{of_what}: by ACL SETUSER, or in its ACL file, "
        f"allow user {user!r} the keys ~{{{name}}}:*, the channels &{{{name}}}:*, and the commands "
        "+@all -@dangerous +info."
    )


def foreign(address: Address, key: str = "") -> str:
    """What is said about a namespace in which something else is kept."""
    such = f", such as {{{address.namespace}}}:{key}" if key else ""
    return (
        f"{address.shown}: namespace {address.namespace!r} has keys of another program{such}: choose another one, by "
        "?namespace= in NORIA_URL, or another database"
    )


def replica(address: Address) -> str:
    """What is said at the start about a server that takes no writes."""
    return f"{address.shown} is a replica, which takes no writes: name the primary in NORIA_URL"


def breaks_connection(error: object) -> bool:
    """Whether the connection should be given up, so that the next one finds what has changed."""
    words = (EPOCH, "READONLY", "MASTERDOWN")
    return isinstance(error, Unavailable) and any(word in str(error) for word in words)


def unreachable(address: Address, why: object) -> Unavailable:
    """There is no connection, and none can be made."""
    if _FULL in str(why):
        return Unavailable(f"{address.shown}: {_NO_ROOM} ({why})")
    return Unavailable(
        f"{address.shown} cannot be reached ({why}): see that it runs, and that NORIA_URL names it"
    )


def unanswered(address: Address, why: object, *, writes: bool) -> NoriaError:
    """A connection ended with a call on its way."""
    what = f"{address.shown} did not answer ({why})"
    if writes:
        return Unknown(f"{what}: the call may be done; repeat it with the same ids")
    return Unavailable(what)


def lost_everything(address: Address) -> str:
    """What is told when the server came back without its data."""
    return (
        f"{address.shown} has lost what was stored in namespace {address.namespace!r}: it was emptied, or came back "
        "without its data; jobs that had not ended are gone. Turn on its append-only file (appendonly yes)"
    )


def restarted(address: Address) -> str:
    """What is told when the server is another process than before, with the data that were kept."""
    return (
        f"{address.shown} was restarted: what it had confirmed in its last moment may be lost, unless it ended in "
        "peace or syncs each change (appendfsync always). Jobs enqueued then may be missing: enqueue them again with "
        "the same ids, which adds only what is not there"
    )
