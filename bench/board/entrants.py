"""The servers of a run while they are up: ours as their entries say, and the peers, all on one core."""

import os
from pathlib import Path

import content
import servers
from cgroup import ControlGroup
from entries import Entry
from places import ARTIFACTS
from profiles import Port
from running import SERVER_CORE, ServerProcess, free_port, pinned


_ENTRIES = {"millrace": "millrace", "engine": "millrace-engine", "aspnet": "millrace-aspnet"}
# The same program on Kestrel's own transport.
_TRANSPORTS = {"kestrel": "sockets", "kestrel-inline": "sockets-inline", "aspnet": "millrace"}


def entry_of(name: str, is_grpc: bool = False) -> Entry | None:
    if name in _TRANSPORTS:
        return Entry("millrace-grpc" if is_grpc else "millrace-aspnet")
    return Entry(_ENTRIES[name]) if name in _ENTRIES else None


class Entrant(ServerProcess):
    """A context manager."""

    start_timeout_s = 20

    def __init__(self, name: str, is_grpc: bool = False, program: Path | None = None):
        """`program`: an executable of Millrace in place of the one that its entry builds."""
        super().__init__(name, ARTIFACTS / f"arena-{name}{'-grpc' if is_grpc else ''}.log")
        self.is_grpc = is_grpc
        self.ports = {port: free_port() for port in Port} | {Port.HTTP: self.port, Port.GRPC: self.port}
        self.group = ControlGroup(f"{name}{'-grpc' if is_grpc else ''}")
        self._program = program

    def __enter__(self) -> "Entrant":
        self.group.__enter__()
        try:
            self.start(self.group.entered(pinned(SERVER_CORE, self._command())), os.environ | self._environment())
        except BaseException:
            self.group.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.group.__exit__()

    def url(self, port: Port, target: str) -> str:
        return f"{port.scheme}://127.0.0.1:{self.ports[port]}{target}"

    def _await_listener(self) -> None:
        super()._await_listener()
        # The first listener of several is open before the others are.
        expected = [port for port in (Port.HTTPS, Port.HTTP2) if not (port is Port.HTTP2 and self.name == "engine")]
        for port in expected:
            self._await_port(self.ports[port])

    def _await_port(self, port: int) -> None:
        own, self.port = self.port, port
        try:
            super()._await_listener()
        finally:
            self.port = own

    def _command(self) -> list[str]:
        match self.name:
            case "nginx":
                return self._nginx()
            case "h2o":
                return ["h2o", "-c", str(self._configure("h2o-arena.conf", {}))]
            case "millrace":
                return self._millrace()
        return self._entry().command({})

    def _entry(self) -> Entry:
        entry = entry_of(self.name, self.is_grpc)
        assert entry is not None
        return entry

    def _environment(self) -> dict[str, str]:
        if entry_of(self.name) is None or self.name == "millrace":
            return {}
        ports = {f"ARENA_{port.value}": str(number) for port, number in self.ports.items() if port is not Port.GRPC}
        return self._entry().environment | ports | {
            "ARENA_ADDRESS": "127.0.0.1", "ARENA_DATA": str(content.DATA), "ARENA_CERTS": str(content.CERTIFICATES),
            "ARENA_REACTORS": "1", "ARENA_TRANSPORT": _TRANSPORTS.get(self.name, "millrace"),
        }

    def _millrace(self) -> list[str]:
        command = self._entry().command({
            "/data": str(content.DATA), "/certs/server.crt": str(content.CERTIFICATE), "/certs/server.key": str(content.KEY),
            "8080": f"127.0.0.1:{self.ports[Port.HTTP]}", "8081": f"127.0.0.1:{self.ports[Port.HTTPS]}",
            "8443": f"127.0.0.1:{self.ports[Port.HTTP2]}",
        })
        if self._program:
            command[0] = str(self._program)
        return [*command, "--reactors", "1"]

    def _nginx(self) -> list[str]:
        configuration = self._configure("nginx-arena.conf", {
            **servers.brotli_of_nginx(True)})
        return ["nginx", "-p", str(configuration.parent), "-c", str(configuration), "-e", "stderr"]

    def _configure(self, peer: str, others: dict[str, object]) -> Path:
        values = {port.value: number for port, number in self.ports.items()}
        return servers.configure(f"arena-{self.name}", peer, values | others | {
            "data": content.DATA, "certificate": content.CERTIFICATE, "key": content.KEY})


    def used_s(self) -> tuple[float, bool]:
        """Seconds that its processes have used, and whether its control group says so; else /proc does, by the tick."""
        used_us = self.group.used_us()
        return (self.processor_s(), False) if used_us is None else (used_us / 1e6, True)
