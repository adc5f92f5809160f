"""The network between the load and the server: the loopback, or two namespaces with a path of netpath's between them."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

import servers
from places import ARTIFACTS, BENCH
from rows import Path

NETPATH = ARTIFACTS / "netpath"
_LOAD_ADDRESS, _SERVER_ADDRESS = "10.99.0.1", "10.99.0.2"
_QUEUE_PACKETS = 1000


def build() -> None:
    servers.build(["make", "-s", "-C", str(BENCH / "netpath"), f"OUT={NETPATH}"])


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The server's address, and what a load's command begins with. The server stays in this process's namespace."""
    if path.is_loopback:
        yield "127.0.0.1", []
        return
    with _process(["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec cat"]) as holder:
        namespace = f"/proc/{holder.pid}/ns/net"
        with _process([str(NETPATH), namespace, f"/proc/{os.getpid()}/ns/net",
                       str(path.delay_ms), str(path.loss_percent), str(path.rate_mbit), str(_QUEUE_PACKETS)]):
            subprocess.run(["nsenter", f"--net={namespace}", "sh", "-c", "echo cubic > /proc/sys/net/ipv4/tcp_congestion_control"],
                           check=False)
            yield _SERVER_ADDRESS, ["nsenter", f"--net={namespace}"]


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """It says "ready", and ends with its input."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or process.stdout.readline().strip() != "ready":
                raise servers.BuildFailure(f"{command[0]} could not make the path: is this run by root?")
            yield process
        finally:
            process.terminate()
