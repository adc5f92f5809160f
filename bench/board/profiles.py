"""The board's profiles, and who takes part in each."""

from dataclasses import dataclass
from enum import Enum

import content

PEERS = ["nginx", "h2o", "kestrel", "kestrel-inline"]
OURS = ["millrace", "engine", "aspnet"]
SERVERS = PEERS + OURS

ASPNET = ["kestrel", "kestrel-inline", "aspnet"]
HTTP1 = ["kestrel", "kestrel-inline", "engine", "aspnet"]
EVERY = ["nginx", "h2o", "kestrel", "kestrel-inline", "millrace", "engine", "aspnet"]


class Port(Enum):
    """The board's listeners."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"
    H2C = "H2C"
    HTTP2 = "HTTP2"
    GRPC = "GRPC"

    @property
    def scheme(self) -> str:
        return "https" if self in (Port.HTTPS, Port.HTTP2) else "http"


class Load(Enum):
    """The program that makes the load. The board's own are gcannon, wrk, h2load and zrk."""

    WRK = "wrk"
    H2LOAD = "h2load"
    PACE = "pace"
    WSLOAD = "wsload"


@dataclass(frozen=True)
class Profile:
    """`streams`: of a connection over HTTP/2. `depth`: requests in one write. `life`: requests of a connection, 0 for all.

    `rate`: requests a second, 0 for as many as go.
    """

    name: str
    port: Port
    load: Load
    targets: list[str]
    connections: int
    servers: list[str]
    streams: int = 1
    depth: int = 1
    life: int = 0
    rate: int = 0
    coding: str = ""
    has_bodies: bool = False


_SUM = ["/baseline11?a=13&b=42"]
_JSON = ["/json/1?m=3", "/json/5?m=7", "/json/10?m=2", "/json/15?m=5", "/json/25?m=4", "/json/40?m=8", "/json/50?m=6"]
_LARGE_JSON = ["/json/25?m=4", "/json/40?m=8", "/json/50?m=6"]
_STATIC_CODING = "br;q=1, gzip;q=0.8"

# Over TLS fewer connections than the board has: a thousand handshakes would be the most of a window on one core.
PROFILES = [
    Profile("baseline", Port.HTTP, Load.WRK, _SUM, 512, HTTP1, has_bodies=True),
    Profile("pipelined", Port.HTTP, Load.WRK, ["/pipeline"], 512, ["nginx", *HTTP1], depth=16),
    Profile("limited-conn", Port.HTTP, Load.WRK, _SUM, 512, HTTP1, life=10, has_bodies=True),
    Profile("json", Port.HTTP, Load.WRK, _JSON, 512, HTTP1),
    Profile("json-comp", Port.HTTP, Load.WRK, _LARGE_JSON, 512, ASPNET, coding="gzip, br"),
    Profile("json-tls", Port.HTTPS, Load.WRK, _JSON, 256, HTTP1),
    Profile("static", Port.HTTP, Load.WRK, content.TARGETS, 1024, EVERY, coding=_STATIC_CODING),
    Profile("static-tls", Port.HTTPS, Load.WRK, content.TARGETS, 256, EVERY, coding=_STATIC_CODING),
    Profile("baseline-h2", Port.HTTP2, Load.H2LOAD, ["/baseline2?a=13&b=42"], 256, ASPNET, streams=100),
    Profile("static-h2", Port.HTTP2, Load.H2LOAD, content.TARGETS, 256, [name for name in EVERY if name != "engine"], streams=32,
            coding=_STATIC_CODING),
    Profile("baseline-h2c", Port.H2C, Load.H2LOAD, ["/baseline2?a=13&b=42"], 256, ASPNET, streams=100),
    Profile("json-h2c", Port.H2C, Load.H2LOAD, _JSON, 256, ASPNET, streams=32),
    Profile("unary-grpc", Port.GRPC, Load.H2LOAD, ["/benchmark.BenchmarkService/GetSum"], 256, ASPNET, streams=100),
    Profile("echo-ws", Port.HTTP, Load.WSLOAD, ["/ws"], 512, ASPNET),
    Profile("latency-10k", Port.HTTP, Load.PACE, ["/baseline11?a=1&b=2"], 1024, HTTP1, rate=10_000),
]
