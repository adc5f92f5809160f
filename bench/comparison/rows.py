"""What is measured: the rows, each under one or more numbers of connections."""

from dataclasses import dataclass
from enum import Enum

from cores import Cores
from variants import VARIANTS


class Ask(Enum):
    """What the requests of a row are for."""

    FILE = "a file"
    MIX = "many files, coded where that is shorter"
    PART = "a part of a file"
    UNCHANGED = "whether a file has changed"
    MISSING = "what is not there"

    @property
    def status(self) -> int:
        return {Ask.PART: 206, Ask.UNCHANGED: 304, Ask.MISSING: 404}.get(self, 200)


class Life(Enum):
    """How long a connection lasts."""

    KEPT = "kept"
    ONE_REQUEST = "one request"


class Root(Enum):
    """What is served, and on which file system."""

    DISK = "disk"
    TREE = "tree"  # Of many files, on the same disk.
    TMPFS = "tmpfs"
    OVERLAY = "overlay"
    DEPLOYED = "deployed"  # Of pages, a site for each server, which changes under the load.
    COLD = "cold"  # Of files that are not in the page cache.


PEERS = ("nginx", "nginx-copy", "lighttpd", "h2o", "caddy", "lwan")
FRONTS = ("millrace", "millrace-epoll", "millrace-kestrel", "millrace-pipe")
STRATEGIES = ("limit-read", "millrace-memory", "millrace-read", "millrace-streamed")
EVERYBODY = ("limit", "limit-sendfile", *PEERS, "map-static-assets", *FRONTS)
# One prebuilt reply is no answer to what these ask, and a pipe's handler of some lines knows files only.
WHOLE_SERVERS = (*PEERS, "map-static-assets", "millrace", "millrace-epoll", "millrace-kestrel")
# lwan has no entity tags to ask with, does not end an answer that is a part, and waits for ever where requests are pipelined.
WITHOUT_LWAN = tuple(name for name in WHOLE_SERVERS if name != "lwan")
READERS = ("limit-read", "nginx", "nginx-copy", "lighttpd", "h2o", "caddy", "millrace", "millrace-read")

# How a file goes, on either backend: whoever serves it, all of them send the same bytes.
WAYS = tuple(f"{backend}-{way}" for backend in ("millrace", "millrace-epoll") for way in ("memory", "read", "streamed"))
# Who looks at each request whether a file is another one now, as nginx does without its cache; and who codes nothing anew meanwhile.
DEPLOYED = ("nginx", "nginx-copy", "nginx-uncached", "lighttpd", "h2o", "caddy",
            "millrace", "millrace-uncoded", "millrace-epoll", "millrace-kestrel")
# Caps of the kernel's own threads beside the one that it comes with.
WORKERS = (1, 64)
COLD = ("nginx", "nginx-copy", "nginx-threads", "lighttpd", "h2o", "caddy", "millrace-read",
        *(f"millrace-workers-{count}" for count in WORKERS), "millrace-epoll-read", "millrace-kestrel")
OPTIONS = ("millrace", *(variant.name for variant in VARIANTS))

# Of the part that is asked for.
PART_FIRST, PART_BYTES = 40_000, 10_240


@dataclass(frozen=True)
class Row:
    """`depth`: requests that a connection has in flight. `file`: what is asked for, and MIX has its own.

    `size`: what the file is called where rows are compared by it.
    """

    name: str
    title: str
    file: str
    connections: tuple[int, ...] = (64, 512)
    servers: tuple[str, ...] = EVERYBODY
    ask: Ask = Ask.FILE
    life: Life = Life.KEPT
    depth: int = 1
    root: Root = Root.DISK
    cores: tuple[Cores, ...] = (Cores.ONE,)
    size: str = ""

    @property
    def is_coded(self) -> bool:
        """Whether clients say that they take gzip."""
        return self.ask is Ask.MIX


def _ways(size: str) -> Row:
    return Row(f"ways-{size}", f"{size.upper()}B, each way", f"{size}.bin", (64,), WAYS, size=size)


def _options(name: str, title: str, file: str, connections: tuple[int, ...]) -> Row:
    return Row(name, f"{title}, with options", file, connections, OPTIONS, cores=tuple(Cores))


# In the order of their worth: a run may have to end before the last.
ROWS = [
    Row("10k", "10 KB", "10k.txt", (64, 512, 10_000), servers=EVERYBODY + STRATEGIES),
    Row("1k", "1 KB", "1k.txt"),
    Row("100k", "100 KB", "100k.bin", servers=EVERYBODY + STRATEGIES),
    Row("1m", "1 MB", "1m.bin", (16, 64, 512)),
    _options("options", "10 KB", "10k.txt", (64, 512)),
    _options("options-100k", "100 KB", "100k.bin", (64,)),
    _options("options-1m", "1 MB", "1m.bin", (16,)),
    *(_ways(size) for size in ("4k", "16k", "32k", "64k", "256k", "1m")),
    Row("mix", "20 files of a site, in turn, for clients that take gzip", "mix", servers=WHOLE_SERVERS, ask=Ask.MIX),
    Row("new", "10 KB, a new connection for each request", "10k.txt", servers=WHOLE_SERVERS, life=Life.ONE_REQUEST),
    Row("304", "10 KB that the client has cached", "10k.txt", (64,), WITHOUT_LWAN, Ask.UNCHANGED),
    Row("range", "10 KB out of 1 MB", "1m.bin", (64,), WITHOUT_LWAN, Ask.PART),
    Row("404", "a missing file", "missing.html", (64,), WHOLE_SERVERS, Ask.MISSING),
    # limit sends each reply by itself, and so is none to who gathers them.
    Row("pipelined", "1 KB, 16 requests pipelined", "1k.txt", (64,), servers=(*WITHOUT_LWAN, "millrace-pipe"), depth=16),
    Row("tree", "11,439 of a site's 200,000 files, by Zipf's law", "", (64,),
        (*PEERS, "millrace", "millrace-epoll", "millrace-kestrel"), root=Root.TREE),
    Row("tmpfs", "10 KB on tmpfs", "10k.txt", (64,), READERS, root=Root.TMPFS),
    Row("overlay", "10 KB on overlayfs, as in a container's image", "10k.txt", (64,), READERS, root=Root.OVERLAY),
    Row("deploy", "10 KB pages, all replaced every half second", "", (64,), DEPLOYED, root=Root.DEPLOYED),
    Row("cold", "80 KB, from the disk", "", (64,), COLD, root=Root.COLD),
    Row("page", "a page of 9,170 bytes", "9170.txt", (512,)),
    Row("98.6k", "98.6 KB", "98k6.bin", (100, 1000, 10_000), cores=tuple(Cores)),
    Row("100m", "100 MB", "100m.bin", servers=(
        "limit", "limit-sendfile", *PEERS, "millrace", "millrace-epoll", "millrace-copied", "millrace-kept", "millrace-kestrel")),
]
