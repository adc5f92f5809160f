"""Certificates for one run."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from places import ARTIFACTS
from servers import build


class Key(Enum):
    """Of the certificate; the values are what openssl makes it from."""

    ECDSA = "ec -pkeyopt ec_paramgen_curve:P-256"
    RSA = "rsa:2048"


@dataclass(frozen=True)
class Certificate:
    certificate: Path
    key: Path


def make(key: Key) -> Certificate:
    work = ARTIFACTS / "tls"
    work.mkdir(parents=True, exist_ok=True)
    made = Certificate(work / f"{key.name.lower()}.pem", work / f"{key.name.lower()}.key")
    build([
        "openssl", "req", "-x509", "-newkey", *key.value.split(), "-nodes", "-days", "30", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(made.key), "-out", str(made.certificate)])
    return made
