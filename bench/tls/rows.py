"""What is measured: the rows of the table."""

from dataclasses import dataclass, field
from enum import Enum

from certificates import Key


class Wire(Enum):
    """What a connection speaks."""

    HTTP1 = "HTTP/1.1"
    HTTPS1 = "HTTPS/1.1"
    H2C = "HTTP/2 in cleartext"
    HTTPS2 = "HTTP/2"

    @property
    def is_encrypted(self) -> bool:
        return self in (Wire.HTTPS1, Wire.HTTPS2)

    @property
    def is_http2(self) -> bool:
        return self in (Wire.H2C, Wire.HTTPS2)


class Life(Enum):
    """How long a connection lasts, and how it begins where that is for one request."""

    KEPT = "kept"
    FULL = "full"
    RESUMED = "resumed"


class Files(Enum):
    """What is asked for."""

    ONE = "the one file of 10 KB"
    PLAIN = "the twenty files of sitefiles.py, in turn"
    CODED = "these files, with brotli"


# Beside a handshake it is nothing how nginx reads the file: there one of the two, with and without sendfile, will do.
ONE_NGINX = ["nginx", "millrace", "millrace-epoll"]
TWO_NGINXES = ["nginx", "nginx-copy", "millrace", "millrace-epoll"]


@dataclass(frozen=True)
class Row:
    """`goals`: how many times nginx's cost must be the server's, at least."""

    name: str
    wire: Wire
    connections: int
    streams: int = 1
    life: Life = Life.KEPT
    key: Key = Key.ECDSA
    files: Files = Files.ONE
    servers: list[str] = field(default_factory=lambda: TWO_NGINXES)
    goals: dict[str, float] = field(default_factory=dict)


def _goals(millrace: float) -> dict[str, float]:
    return {"millrace": millrace, "millrace-epoll": 1.0}


def _site(name: str, wire: Wire, files: Files, numbers: tuple[int, ...], goal: float | None) -> list[Row]:
    """A site, to few and to many clients."""
    return [
        Row(f"site-{name}-{connections}", wire, connections, streams=32 if wire.is_http2 else 1, files=files,
            servers=TWO_NGINXES[:-1], goals={"millrace": goal} if goal else {})
        for connections in numbers
    ]


ROWS = [
    Row("https", Wire.HTTPS1, 64, goals=_goals(1.2)),
    Row("https-new", Wire.HTTPS1, 64, life=Life.FULL, servers=ONE_NGINX, goals=_goals(1.0)),
    Row("https-resumed", Wire.HTTPS1, 64, life=Life.RESUMED, servers=ONE_NGINX, goals=_goals(1.0)),
    Row("http2", Wire.HTTPS2, 16, streams=16, goals=_goals(1.3)),
    Row("h2c", Wire.H2C, 16, streams=16),
    # When asked for.
    *_site("http", Wire.HTTP1, Files.CODED, (64, 512, 1024), 1.5),
    *_site("http-plain", Wire.HTTP1, Files.PLAIN, (64, 512), None),
    *_site("https", Wire.HTTPS1, Files.CODED, (64, 256, 1024), 1.6),
    *_site("http2", Wire.HTTPS2, Files.CODED, (16, 64, 256), 1.6),
    *_site("http2-plain", Wire.HTTPS2, Files.PLAIN, (16, 64, 256), 1.3),
    Row("http", Wire.HTTP1, 64),
    Row("https-new-rsa", Wire.HTTPS1, 64, life=Life.FULL, key=Key.RSA, servers=ONE_NGINX),
    Row("https-resumed-rsa", Wire.HTTPS1, 64, life=Life.RESUMED, key=Key.RSA, servers=ONE_NGINX),
]
USUAL = ["https", "https-new", "https-resumed", "http2", "h2c"]
