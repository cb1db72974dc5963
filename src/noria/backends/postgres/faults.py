"""What PostgreSQL's errors mean to a caller: each becomes one of Noria's, with the server's name and the remedy."""

from __future__ import annotations

import re
from typing import Final

from noria.errors import ConfigError, NoriaError, Unavailable, Unknown


class Refused(Exception):
    """The server refused a statement. `code` is its SQLSTATE; `fatal`: it ended the connection too."""

    def __init__(self, code: str, message: str, statement: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.statement = statement
        self.fatal = fatal

    @property
    def passing(self) -> bool:
        """Whether the same transaction, begun anew, would not meet it: others were just at the same rows."""
        return self.code in ("40001", "40P01", "23505")


class Held(Unavailable):
    """Somebody else holds a lock that a call needs. Nothing was done; trying again may succeed."""


class Broken(Exception):
    """A connection cannot be used any more; what was under way on it may be done or not."""


class Unbegun(Broken):
    """It broke before anything was done on it."""


_REMEDIES: Final[tuple[tuple[str, str], ...]] = (
    ("53100", "its disk is full: free some space; nothing is lost, and calls succeed again at once"),
    ("53200", "it is out of memory"),
    ("53300", "it has no connection left: raise its max_connections, or run fewer processes"),
    ("57P03", "it is starting up or shutting down"),
    ("57P", "it was shut down, or somebody ended our connection"),
    ("25006", "it is read-only, as a standby is: name the primary in NORIA_URL"),
    ("42501", "this user may not do that: grant it the rights on the schema, see `noria db migrate --sql`"),
    ("42P01", "tables of ours are missing: run `noria db migrate`, or name another namespace"),
    ("3F000", "the schema is missing: run `noria db migrate`, or name another namespace"),
    (
        "55P03",
        "somebody holds a lock for too long: look for a transaction that is kept open, in pg_stat_activity",
    ),
    ("57014", "a statement took too long: look for a lock or an overloaded server, in pg_stat_activity"),
    ("40", "others kept changing the same jobs"),
    ("23505", "others kept storing the same keys"),
    ("54000", "one call carries more than a statement can take: pass fewer or smaller jobs at once"),
)

_OPTION: Final = "F0000"
"""The code of PostgreSQL for a mistake in settings, for those that libpq finds too."""

_CONFIG: Final[tuple[tuple[str, str], ...]] = (
    ("3D000", "there is no such database: create it (createdb NAME), or name another one in NORIA_URL"),
    ("28", "it does not let this user in: look at the user and password in NORIA_URL, and at pg_hba.conf"),
    (_OPTION, "an option of the URL does not fit: mend it in NORIA_URL"),
)


_SIGNED: Final = (
    "its certificate is signed by nobody whom we know: put that of the authority into a file, and add "
    "sslrootcert=FILE to NORIA_URL, or sslrootcert=system if the system knows it"
)
_ASKED: Final = "it asks for a password: put it into NORIA_URL, as in postgresql://USER:PASSWORD@HOST"
_TLS: Final = "turn TLS on there (ssl = on), or leave sslmode out of NORIA_URL"

_DOOR: Final[tuple[tuple[str, str, str], ...]] = (
    ("password authentication failed", "28P01", "it refuses the user or the password in NORIA_URL"),
    (
        "no password supplied",
        "28000",
        _ASKED,
    ),
    (
        r"no pg_hba\.conf entry|pg_hba\.conf rejects",
        "28000",
        "it does not let this user in from this machine: look at its pg_hba.conf",
    ),
    (
        "role .* does not exist",
        "28000",
        "create the user (createuser NAME), or name another one in NORIA_URL",
    ),
    (
        "authentication failed|not permitted to log in|permission denied for database|no such user",
        "28000",
        "",
    ),
    ("database .* does not exist|no such database", "3D000", ""),
    ("too many clients|too many connections|connection slots are reserved|no more connections", "53300", ""),
    (r"database system is (starting up|shutting down|in recovery mode|not)", "57P03", ""),
    (
        "session is read-only|server is in hot standby mode",
        _OPTION,
        "it is read-only: name the primary in NORIA_URL",
    ),
    ("certificate verify failed|root certificate file .* does not exist", _OPTION, _SIGNED),
    ("does not match host name", _OPTION, "name it in NORIA_URL as its certificate does"),
    ("server does not support SSL", _OPTION, _TLS),
    (
        "certificate file .*: No such|(^|failed: )invalid [a-z_ ]+|could not match \\d+|definition of service",
        _OPTION,
        "",
    ),
    (
        "FATAL: +(unrecognized configuration parameter|invalid value for parameter|.* requires a value)",
        _OPTION,
        "",
    ),
)
"""What is said to somebody who wants to come in: libpq passes the words on, and no code. The code, and the remedy if
that of the code says less."""

_CONNECT: Final = "connect"


def at_the_door(text: str) -> Refused | Broken:
    """What it means that no connection could be made.

    Args:
        text: what libpq says, on one line. In another language than English it is only known to have failed.
    """
    code = next((code for words, code, _ in _DOOR if re.search(words, text)), None)
    return Broken(text) if code is None else Refused(code, text, _CONNECT, fatal=True)


def _at_the_door(error: Refused) -> str:
    """The remedy for who was not let in; "" if that of the code says it all."""
    if error.statement != _CONNECT:
        return ""
    return next((remedy for words, _, remedy in _DOOR if re.search(words, error.message)), "")


def translate(error: Refused, store: str) -> NoriaError:
    """The error that a caller of the backend sees; what the server refused was certainly not done."""
    found = next((text for code, text in _CONFIG if error.code.startswith(code)), None)
    if found is not None:
        return ConfigError(f"{store}: {_at_the_door(error) or found} ({error.code}: {error.message})")
    remedy = next((text for code, text in _REMEDIES if error.code.startswith(code)), "a statement failed")
    kind = Held if error.code == "55P03" else Unavailable
    return kind(f"{store}: {remedy} ({error.code}: {error.message})")


def lost(error: Broken, store: str, *, committing: bool = False) -> NoriaError:
    """The connection broke while a caller waited.

    Args:
        committing: its commit was on the way, so that nobody knows.
    """
    if committing:
        what = "the connection broke during a commit, which may be done; repeat the call with the same ids"
        return Unknown(f"{store}: {what} ({error})")
    return Unavailable(f"{store}: {error}")


def concerns_store(error: BaseException) -> bool:
    """Whether every other call would have met this error too, so that trying each alone is of no use."""
    return isinstance(error, Broken) or (
        isinstance(error, Refused) and error.code[:2] in ("53", "57", "58", "XX", "25", "28", "3D", "3F")
    )
