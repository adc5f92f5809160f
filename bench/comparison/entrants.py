"""Who takes part: how each is built, and how it is started for what it is asked."""

import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import files
import servers
from cores import Cores
from places import ARTIFACTS, REPOSITORY
from rows import WORKERS, Root
from servers import configure
from variants import VARIANTS

FRONTS = ARTIFACTS / "fronts" / "fronts"
LIMIT = ARTIFACTS / "limit"


@dataclass(frozen=True)
class Ground:
    """What a server is started for: rows on the same ground find it running. `own`: its folder, where it shares none with others."""

    cores: Cores
    root: Root
    is_coded: bool
    connections: int
    file: str = ""
    file_bytes: int = 0
    own: str = ""

    @property
    def folder(self) -> Path:
        return files.folder(self.root) / self.own


Command = Callable[[Ground, int], list[str]]

_WAYS = {"memory": "--cache-max-file 4m", "read": "--cache-max-file 0 --read-max 4m", "streamed": "--cache-max-file 0 --read-max 0"}


@dataclass(frozen=True)
class Entrant:
    """`is_compiled_late`: it becomes what it is under load. `has_one_file`: it knows no other, `is_filler`: and only its length.

    `cores`: with which of them it says anything.
    """

    name: str
    command: Command
    build: Callable[[], None] = lambda: None
    is_compiled_late: bool = False
    has_one_file: bool = False
    is_filler: bool = False
    cores: tuple[Cores, ...] = tuple(Cores)


def known() -> list[Entrant]:
    """In the order of the first round."""
    build_limit = functools.cache(servers.build_limit)
    publish_millrace = functools.cache(servers.publish_millrace)
    publish_fronts = functools.cache(_publish_fronts)

    def millrace(name: str, flags: str = "", cores: tuple[Cores, ...] = tuple(Cores)) -> Entrant:
        return Entrant(
            name, lambda ground, port: _millrace(ground, port, flags.split()), publish_millrace, cores=cores)

    def front(name: str, kind: str) -> Entrant:
        return Entrant(
            name, lambda ground, port: [str(FRONTS), kind, str(port), str(ground.folder)], publish_fronts, is_compiled_late=True)

    return [
        # The limit has one thread: with two cores it would be half of one.
        Entrant("limit", _limit, build_limit, has_one_file=True, is_filler=True, cores=(Cores.ONE,)),
        Entrant("limit-sendfile", _limit_sendfile, build_limit, has_one_file=True, is_filler=True, cores=(Cores.ONE,)),
        Entrant("limit-read", _limit_read, build_limit, has_one_file=True, cores=(Cores.ONE,)),
        Entrant("nginx", lambda ground, port: _nginx("nginx", ground, port, "on")),
        Entrant("nginx-copy", lambda ground, port: _nginx("nginx-copy", ground, port, "off")),
        Entrant("nginx-uncached", lambda ground, port: _nginx("nginx-uncached", ground, port, "on", kept="off")),
        Entrant("nginx-threads", lambda ground, port: _nginx("nginx-threads", ground, port, "on", aio="threads")),
        Entrant("lighttpd", _lighttpd),
        Entrant("h2o", _h2o),
        Entrant("caddy", _caddy),
        # Debian has none: it takes part where it was built from its source.
        *([Entrant("lwan", _lwan)] if shutil.which("lwan") else []),
        front("map-static-assets", "map-static-assets"),
        millrace("millrace"),
        millrace("millrace-epoll", "--backend epoll"),
        millrace("millrace-uncoded", "--compress off"),
        millrace("millrace-copied", "--sendfile off"),
        millrace("millrace-kept", "--cache-max-file 128m"),
        front("millrace-kestrel", "kestrel"),
        front("millrace-pipe", "pipe"),
        # The sizes that decide, moved so that a file of any row's size goes this way.
        *(millrace(f"millrace-{way}", flags) for way, flags in _WAYS.items()),
        *(millrace(f"millrace-epoll-{way}", f"--backend epoll {flags}") for way, flags in _WAYS.items()),
        # Of the kernel's threads for what a file system does not read without one; it comes with 4.
        *(millrace(f"millrace-workers-{count}", f"{_WAYS['read']} --file-workers {count}") for count in WORKERS),
        *(millrace(each.name, each.flags, each.cores) for each in VARIANTS),
    ]


def added(definition: str) -> Entrant:
    """A server of the command line: NAME=COMMAND, with {port} and {root} to be filled in. It is taken for one that compiles late."""
    name = servers.added(definition, b"").name
    return Entrant(
        name, lambda ground, port: servers.added(definition, b"", {"root": ground.folder}).command(port), is_compiled_late=True)


def sizes() -> dict[str, str]:
    """Up to which size a file goes which way, unless the server is told otherwise: as the one that was built has it."""
    try:
        said = subprocess.run([servers.MILLRACE, "--help-all"], capture_output=True, text=True).stdout
    except OSError:
        return {}
    return dict(re.findall(r"--(cache-max-file|read-max) .*?\[default: (\w+)\]", said, re.DOTALL))


def _limit(ground: Ground, port: int) -> list[str]:
    return [str(LIMIT), str(port), str(ground.file_bytes)]


def _limit_sendfile(ground: Ground, port: int) -> list[str]:
    return [*_limit(ground, port), "--sendfile"]


def _limit_read(ground: Ground, port: int) -> list[str]:
    return [*_limit(ground, port), "--read", str(ground.folder / ground.file)]


def _nginx(name: str, ground: Ground, port: int, sendfile: str, kept: str = servers.NGINX_KEPT, aio: str = "off") -> list[str]:
    return servers.nginx_command(
        _own(name, ground), port, sendfile, ground.folder,
        workers=ground.cores.count, connections=ground.connections, gzip="on" if ground.is_coded else "off",
        kept=kept, aio=aio)


def _lighttpd(ground: Ground, port: int) -> list[str]:
    name = _own("lighttpd", ground)
    compression = configure(name, "lighttpd-compression.conf", {}) if ground.is_coded else None
    configuration = configure(name, "lighttpd.conf", {
        "port": port, "root": ground.folder, "connections": ground.connections,
        "workers": 0 if ground.cores is Cores.ONE else ground.cores.count,
        "modules": '"mod_deflate"' if compression else "",
        "compression": f'include "{compression}"' if compression else ""})
    return ["lighttpd", "-D", "-f", str(configuration)]


def _h2o(ground: Ground, port: int) -> list[str]:
    configuration = configure(_own("h2o", ground), "h2o.conf", {
        "port": port, "root": ground.folder, "connections": ground.connections, "workers": ground.cores.count,
        "compressed": "ON" if ground.is_coded else "OFF"})
    return ["h2o", "-m", "worker", "-c", str(configuration)]


def _caddy(ground: Ground, port: int) -> list[str]:
    configuration = configure(_own("caddy", ground), "Caddyfile", {
        "port": port, "root": ground.folder, "precompressed": "precompressed gzip" if ground.is_coded else ""})
    # It keeps what it was told last in its home.
    return ["env", f"HOME={configuration.parent}", "caddy", "run", "--config", str(configuration), "--adapter", "caddyfile"]


def _lwan(ground: Ground, port: int) -> list[str]:
    configuration = configure(_own("lwan", ground), "lwan.conf", {"port": port, "root": ground.folder, "workers": ground.cores.count})
    return ["lwan", "-c", str(configuration)]


def _millrace(ground: Ground, port: int, flags: list[str]) -> list[str]:
    return [str(servers.MILLRACE), str(ground.folder), "--listen", f"127.0.0.1:{port}", "--reactors", str(ground.cores.count), *flags]


def _own(name: str, ground: Ground) -> str:
    """Several may be up at once, each with a folder of its own."""
    return f"run-{name}-{ground.cores.value}-{ground.root.value}-{ground.connections}{'-coded' if ground.is_coded else ''}"


def _publish_fronts() -> None:
    # What an earlier run left must not be measured when this build fails, nor served: assets are mapped when they are published.
    shutil.rmtree(FRONTS.parent, ignore_errors=True)
    shutil.rmtree(REPOSITORY / "bench" / "Millrace.Fronts" / "obj" / "Release", ignore_errors=True)
    servers.build([
        "dotnet", "publish", "bench/Millrace.Fronts", "-c", "Release", "-o", str(FRONTS.parent), f"-p:MeasuredSite={files.SITE}",
        "--disable-build-servers"])
