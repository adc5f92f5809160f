"""A server while it runs: started on its core, always stopped."""

import contextlib
import os
import signal
import socket
import subprocess
import time

import session
from places import ARTIFACTS
from servers import Server

SERVER_CORE = 0
LOAD_CORE = 1
START_TIMEOUT_S = 10
STOP_TIMEOUT_S = 5


def pinned(core: int, command: list[str]) -> list[str]:
    """The command on one core. Should this script be killed outright, pdeathsig takes it along."""
    return ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", str(core), *command]


class StartFailure(Exception):
    """The server did not come up; the message is what it wrote."""


class RunningServer:
    """A context manager. The server leads a session of its own: its members are found, and ended, by it."""

    def __init__(self, server: Server):
        self.server = server
        self.port = free_port()
        self._log = ARTIFACTS / f"{server.name}.log"

    def __enter__(self) -> "RunningServer":
        command = pinned(SERVER_CORE, self.server.command(self.port))
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            self._await_listener()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def written(self) -> str:
        return self._log.read_text(errors="replace").strip()

    def has_exited(self) -> bool:
        return self._process.poll() is not None

    def strange_listeners(self) -> int:
        """Sockets of others that listen on our port: with SO_REUSEPORT they would take a share of the load."""
        return len(session.listening_inodes(self.port) - session.socket_inodes(self._process.pid))

    def others_ran_s(self) -> float:
        return session.others_ran_s(self._process.pid)

    def _await_listener(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not session.listening_inodes(self.port):
            try:
                self._process.wait(timeout=0.02)
                raise StartFailure(self.written() or f"it exited with {self._process.returncode} and wrote nothing")
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise StartFailure(f"no listener after {START_TIMEOUT_S} s\n{self.written()}") from None

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                print(f"  {self.server.name} ignored SIGTERM for {STOP_TIMEOUT_S} s and is killed", flush=True)
        for pid in session.members(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
