"""The proxies that are compared, and the upstream that is the same for all."""

from collections.abc import Callable

import servers
from places import ARTIFACTS, SITE
from rows import LARGE_BYTES, SMALL_BYTES
from running import LOAD_CORE, ServerProcess, pinned
from servers import MILLRACE, Server

NAMES = ["millrace", "nginx", "haproxy"]


class Upstream(ServerProcess):
    """`limit`, which answers each request with a copy of one buffer: nothing is cheaper. It has the load's core."""

    def __init__(self, name: str, answer_bytes: int):
        super().__init__(name, ARTIFACTS / f"{name}.log")
        self._bytes = answer_bytes

    def __enter__(self) -> "Upstream":
        self.start(pinned(LOAD_CORE, [str(ARTIFACTS / "limit"), str(self.port), str(self._bytes)]))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def upstreams() -> tuple[Upstream, Upstream]:
    return Upstream("upstream-1k", SMALL_BYTES), Upstream("upstream-100k", LARGE_BYTES)


def proxy(name: str, small: int, large: int, is_http2: bool) -> Server:
    """One proxy, for one protocol in front."""
    commands: dict[str, Callable[[int], list[str]]] = {
        "millrace": lambda port: _millrace(port, small, large),
        "nginx": lambda port: _nginx(port, small, large, is_http2),
        "haproxy": lambda port: _haproxy(port, small, large, is_http2),
    }
    return Server(name, commands[name], b"")


def _millrace(port: int, small: int, large: int) -> list[str]:
    # Both protocols on one port: HTTP/2 by prior knowledge.
    return [
        str(MILLRACE), str(SITE), "--listen", f"127.0.0.1:{port}", "--reactors", "1",
        "--proxy", f"/1k http://127.0.0.1:{small}", "--proxy", f"/100k http://127.0.0.1:{large}"]


def _nginx(port: int, small: int, large: int, is_http2: bool) -> list[str]:
    configuration = servers.configure("nginx-proxy", "nginx-proxy.conf", {
        "port": port, "small": small, "large": large, "protocols": "http2" if is_http2 else ""})
    return ["nginx", "-p", str(configuration.parent), "-c", str(configuration), "-e", "stderr"]


def _haproxy(port: int, small: int, large: int, is_http2: bool) -> list[str]:
    configuration = servers.configure("haproxy", "haproxy.cfg", {
        "port": port, "small": small, "large": large, "protocols": "proto h2" if is_http2 else ""})
    return ["haproxy", "-db", "-f", str(configuration)]
