"""A server while it runs: started on its core, watched through /proc, always stopped."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from places import ARTIFACTS
from servers import Server

SERVER_CORE = 0
LOAD_CORE = 1
START_TIMEOUT_S = 10
STOP_TIMEOUT_S = 5


class StartFailure(Exception):
    """The server did not come up; the message is what it wrote."""


class RunningServer:
    """A context manager. The server leads a session of its own: its members are found, and ended, by it."""

    def __init__(self, server: Server):
        self.server = server
        self.port = _free_port()
        self._log = ARTIFACTS / f"{server.name}.log"

    def __enter__(self) -> "RunningServer":
        # pdeathsig: should this script be killed outright, the server still goes with it.
        command = ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", str(SERVER_CORE), *self.server.command(self.port)]
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
        return len(_listening_inodes(self.port) - self._socket_inodes())

    def thread_times_ns(self) -> dict[int, tuple[int, int]]:
        """Per thread: time on a core, and time it could have run but waited for one."""
        times = {}
        for pid in self._members():
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                ran, waited, _ = task.read_text().split()
                times[int(task.parent.name)] = (int(ran), int(waited))
        return times

    def _await_listener(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _listening_inodes(self.port):
            try:
                self._process.wait(timeout=0.02)
                raise StartFailure(self.written() or f"it exited with {self._process.returncode} and wrote nothing")
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    raise StartFailure(f"no listener after {START_TIMEOUT_S} s\n{self.written()}") from None

    def _members(self) -> list[int]:
        # The session is the fourth field after the name, which may itself hold spaces and brackets.
        members = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(stat.read_text().rpartition(")")[2].split()[3])
            except (FileNotFoundError, ProcessLookupError):
                continue  # It ended while we looked.
            if session == self._process.pid:
                members.append(int(stat.parent.name))
        return members

    def _socket_inodes(self) -> set[str]:
        targets = {os.readlink(fd) for pid in self._members() for fd in Path(f"/proc/{pid}/fd").iterdir()}
        return {target[len("socket:["):-1] for target in targets if target.startswith("socket:[")}

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                print(f"  {self.server.name} ignored SIGTERM for {STOP_TIMEOUT_S} s and is killed", flush=True)
        for pid in self._members():
            os.kill(pid, signal.SIGKILL)
        self._process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _listening_inodes(port: int) -> set[str]:
    listening = "0A"
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue  # A kernel without IPv6.
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == listening and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes
