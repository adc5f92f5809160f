"""The servers that are compared: how each is built, how it is started, what it must answer."""

import functools
import getpass
import grp
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from places import ARTIFACTS, BENCH, FILE_BYTES, REPOSITORY, SITE


PUBLISHED = ARTIFACTS / "millrace" / "millrace"
# What is measured: the program of this tree, unless another one was named.
MILLRACE = PUBLISHED
ACCESS_LOG = ARTIFACTS / "access.log"
# Descriptors of files, where they are kept at all.
_BROTLI_MODULE = "/usr/lib/nginx/modules/ngx_http_brotli_static_module.so"
NGINX_KEPT = "max=8192 inactive=1h"


@dataclass(frozen=True)
class Server:
    """`command` gives the command line for a port; `body` is what a correct server answers with."""

    name: str
    command: Callable[[int], list[str]]
    body: bytes
    build: Callable[[], None] = lambda: None


class BuildFailure(Exception):
    """The server could not be built; the message is what the build said."""


def known(body: bytes) -> list[Server]:
    """The servers of every run, in the order of the first round."""
    # limit answers from memory; its filler has the file's length, and only that is its claim.
    limit = Server("limit", lambda port: [str(ARTIFACTS / "limit"), str(port), str(FILE_BYTES)], b"x" * FILE_BYTES, build_limit)
    nginx = Server("nginx", lambda port: nginx_command("nginx", port, "on", SITE), body)
    nginx_copy = Server("nginx-copy", lambda port: nginx_command("nginx-copy", port, "off", SITE), body)
    millrace = Server("millrace", _millrace_command, body, publish_millrace)
    return [limit, nginx, nginx_copy, millrace]


def observed(body: bytes) -> list[Server]:
    """Millrace alone, and with those who look on as it serves."""
    combined = ["--access-log", str(ACCESS_LOG), "--access-log-format", "combined"]
    as_json = ["--access-log", str(ACCESS_LOG), "--access-log-format", "json"]
    admin = ["--admin", "127.0.0.1:0"]
    kinds = {"millrace": [], "log-combined": combined, "log-json": as_json, "admin": admin, "log+admin": as_json + admin}
    publish_once = functools.cache(publish_millrace)
    return [Server(name, functools.partial(_observed_command, flags), body, publish_once) for name, flags in kinds.items()]


def added(definition: str, body: bytes, others: dict[str, Path] | None = None) -> Server:
    """A server of the command line: NAME=COMMAND with {port} and {root} to be filled in, and others where there are any."""
    name, separator, command = definition.partition("=")
    if not (name and separator and command and "{port}" in command):
        raise ValueError(f"'{definition}' is not NAME=COMMAND with {{port}} in the command")
    words = shlex.split(command)
    return Server(name, lambda port: [_filled(word, {"port": port, "root": SITE} | (others or {})) for word in words], body)


def _filled(word: str, values: dict[str, object]) -> str:
    for key, value in values.items():
        word = word.replace(f"{{{key}}}", str(value))
    return word


def build(command: list[str]) -> None:
    try:
        result = subprocess.run(command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        raise BuildFailure(f"{command[0]}: {error.strerror}") from error
    if result.returncode != 0:
        raise BuildFailure(result.stdout)


def build_limit() -> None:
    build(["make", "-C", str(BENCH / "limit"), f"OUT={ARTIFACTS / 'limit'}"])


def publish_millrace() -> None:
    if MILLRACE != PUBLISHED:
        return  # Another one was named.
    # What an earlier run left must not be measured when this build fails.
    shutil.rmtree(MILLRACE.parent, ignore_errors=True)
    # Build servers would outlive the build and share the cores with the run.
    build([
        "dotnet", "publish", "src/Millrace.Server", "-p:PublishProfile=NativeAot", "-o", str(MILLRACE.parent), "--disable-build-servers"])


def _millrace_command(port: int) -> list[str]:
    return [str(MILLRACE), str(SITE), "--listen", f"127.0.0.1:{port}", "--reactors", "1"]


def _observed_command(flags: list[str], port: int) -> list[str]:
    # A line is some hundred bytes, and there are a hundred thousand a second: no run leaves its own to the next.
    ACCESS_LOG.unlink(missing_ok=True)
    return _millrace_command(port) + flags


def nginx_command(
        name: str, port: int, sendfile: str, root: Path, protocols: str = "", tls: str = "",
        workers: int = 1, connections: int = 4096, gzip: str = "off", kept: str = NGINX_KEPT, aio: str = "off",
        has_brotli: bool = False) -> list[str]:
    configuration = configure(name, "nginx.conf", {
        "port": port, "sendfile": sendfile, "protocols": protocols, "tls": tls, "root": root,
        "workers": workers, "connections": connections, "gzip": gzip, "kept": kept, "aio": aio, **brotli_of_nginx(has_brotli)})
    return ["nginx", "-p", str(configuration.parent), "-c", str(configuration), "-e", "stderr"]


def brotli_of_nginx(is_on: bool) -> dict[str, str]:
    """The .br beside a file, by a module that Debian has in a package of its own."""
    return {"modules": f"load_module {_BROTLI_MODULE};", "brotli": "brotli_static on;"} if is_on else {"modules": "", "brotli": ""}


def configure(name: str, peer: str, values: dict[str, object]) -> Path:
    """A peer's configuration, filled in, in a folder of this server's own, which is @work@ in it."""
    work = ARTIFACTS / name
    work.mkdir(parents=True, exist_ok=True)
    own = {"work": work, "user": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name}
    text = (BENCH / "peers" / peer).read_text()
    for key, value in (values | own).items():
        text = text.replace(f"@{key}@", str(value))
    configuration: Path = work / peer
    configuration.write_text(text)
    return configuration
