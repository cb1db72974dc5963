"""TLS: the server is verified unless the URL says, by a word of its own, that it shall not be."""

from __future__ import annotations

import ssl

from noria.backends.redis.address import Address
from noria.backends.redis.faults import unreachable
from noria.errors import ConfigError, NoriaError


def context_of(address: Address) -> ssl.SSLContext | None:
    """How to speak to a server; None: plainly.

    Raises:
        ConfigError: the file of authorities cannot be read, or holds none.
    """
    if not address.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=address.ca or None)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{address.shown}: {address.ca} cannot be read as certificates in PEM ({error}): mend ?ca= in NORIA_URL"
        ) from error
    if not address.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def no_way_in(address: Address, error: Exception) -> NoriaError:
    """Why a connection could not be made, with the remedy if it will not get better by itself."""
    if isinstance(error, ssl.SSLCertVerificationError):
        what = f"{address.shown} does not prove who it is ({error.verify_message})"
        if "match" in error.verify_message or "not valid for" in error.verify_message:
            return ConfigError(f"{what}: name it in NORIA_URL as its certificate does")
        return ConfigError(
            f"{what}: put the certificate of the authority that signed its own into a file, and add ?ca=FILE to "
            "NORIA_URL; where nobody could listen in, ?verify=none goes without"
        )
    if isinstance(error, ssl.SSLError):
        return ConfigError(
            f"{address.shown} does not speak TLS as it should ({error.reason or error}): turn it on there (tls-port), "
            "or write redis:// in NORIA_URL"
        )
    return unreachable(address, error)
