"""A server while it runs: started on its core, always stopped."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import session
from places import ARTIFACTS
from servers import Server

SERVER_CORE = 0
LOAD_CORE = 1


def pinned(cores: int | str, command: list[str]) -> list[str]:
    """The command on these cores. Should this script be killed outright, pdeathsig takes it along."""
    return ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", str(cores), *command]


class StartFailure(Exception):
    """The server did not come up; the message is what it wrote."""


class ServerProcess:
    """What listens on a port of its own, and leads a session of its own: its members are found, and ended, by it."""

    start_timeout_s = 10
    stop_timeout_s = 5

    def __init__(self, name: str, log: Path):
        self.name = name
        self.port = free_port()
        self._log = log

    def start(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment)
        try:
            self._await_listener()
        except BaseException:
            self.stop()
            raise

    def written(self) -> str:
        return self._log.read_text(errors="replace").strip()

    def has_exited(self) -> bool:
        return self._process.poll() is not None

    def others_ran_s(self) -> float:
        return session.others_ran_s(self._process.pid)

    def strange_listeners(self) -> int:
        """Sockets of others that listen on our port: with SO_REUSEPORT they would take a share of the load."""
        return len(session.listening_inodes(self.port) - session.socket_inodes(self._process.pid))

    def strays(self) -> list[str]:
        """Threads of the kernel's in its processes that are not held to its cores: what they do is not in its cost."""
        return session.strays(self._process.pid)

    def members(self) -> list[int]:
        return session.members(self._process.pid)

    def resident_bytes(self) -> int:
        return session.resident_bytes(self._process.pid)

    def processor_s(self) -> float:
        """User and system time of its processes since they began."""
        return session.processor_s(self._process.pid)

    def compiler_s(self) -> float:
        """That of the threads of .NET that compile anew what has turned out to be hot."""
        return session.compiler_s(self._process.pid)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=self.stop_timeout_s)
            except subprocess.TimeoutExpired:
                print(f"  {self.name} ignored SIGTERM for {self.stop_timeout_s} s and is killed", flush=True)
        for pid in session.members(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _await_listener(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        while not session.listening_inodes(self.port):
            try:
                self._process.wait(timeout=0.02)
                raise StartFailure(self.written() or f"it exited with {self._process.returncode} and wrote nothing")
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise StartFailure(f"no listener after {self.start_timeout_s} s\n{self.written()}") from None


class RunningServer(ServerProcess):
    """A context manager."""

    def __init__(self, server: Server):
        super().__init__(server.name, ARTIFACTS / f"{server.name}.log")
        self.server = server

    def __enter__(self) -> "RunningServer":
        self.start(pinned(SERVER_CORE, self.server.command(self.port)))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
