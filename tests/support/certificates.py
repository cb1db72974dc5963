"""Certificates for servers of tests: an authority, and what it signed for 127.0.0.1."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certificate(NamedTuple):
    """Files of a server. `authority`: of whoever signed it."""

    authority: Path
    certificate: Path
    key: Path


def certificate(folder: Path, name: str = "IP:127.0.0.1") -> Certificate:
    """A new authority, and a certificate for a name that it signed; good for a day."""
    made = Certificate(folder / "authority.pem", folder / "server.pem", folder / "server.key")
    _openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
        "-subj", "/CN=Authority of a test", "-keyout", folder / "authority.key", "-out", made.authority,
    )  # fmt: skip
    _openssl(
        "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", "/CN=Server of a test", "-addext", f"subjectAltName={name}", "-keyout", made.key,
        "-out", folder / "server.csr",
    )  # fmt: skip
    _openssl(
        "x509", "-req", "-in", folder / "server.csr", "-CA", made.authority, "-CAkey", folder / "authority.key",
        "-CAcreateserial", "-days", "1", "-copy_extensions", "copy", "-out", made.certificate,
    )  # fmt: skip
    return made


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)
