"""What is measured: the rows of the table."""

from dataclasses import dataclass
from enum import Enum


class Wire(Enum):
    """What a connection speaks."""

    HTTP1 = "http1"
    HTTPS1 = "https1"
    HTTPS2 = "https2"

    @property
    def is_encrypted(self) -> bool:
        return self is not Wire.HTTP1


class Life(Enum):
    """How long a connection lasts."""

    KEPT = "kept"
    ONE_REQUEST = "one request"


@dataclass(frozen=True)
class Row:
    """`depth`: requests that a connection has in flight; over HTTP/2 they are streams, else pipelined."""

    name: str
    target: str
    body_bytes: int
    wire: Wire = Wire.HTTP1
    depth: int = 1
    life: Life = Life.KEPT

    @property
    def is_paced(self) -> bool:
        """Whether its latency can be measured at a fixed rate: the paced client keeps its connections."""
        return self.life is Life.KEPT


LINE_BYTES = len("Hello, World!")
JSON_BYTES = len('{"message":"Hello, World!"}')

ROWS = [
    Row("plaintext", "/plaintext", LINE_BYTES),
    Row("awaited", "/awaited", LINE_BYTES),
    Row("json", "/json", JSON_BYTES),
    Row("10k", "/10k", 10_240),
    Row("https", "/plaintext", LINE_BYTES, Wire.HTTPS1),
    Row("https-10k", "/10k", 10_240, Wire.HTTPS1),
    Row("http2", "/plaintext", LINE_BYTES, Wire.HTTPS2, depth=8),
    Row("connections", "/plaintext", LINE_BYTES, life=Life.ONE_REQUEST),
    Row("pipelined", "/plaintext", LINE_BYTES, depth=16),
]
