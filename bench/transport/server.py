"""The application on one transport, from start to stop, and the processor time that it has used."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path

import session
from places import ARTIFACTS, BENCH, REPOSITORY
from rows import Row, Wire
from running import LOAD_CORE, SERVER_CORE, free_port

PUBLISHED = ARTIFACTS / "webapi"
TRANSPORTS = ["sockets", "sockets-inline", "millrace"]
START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10


class Cores(Enum):
    """ONE: the server has a core of its own and the load another. BOTH: they share two, as on a machine that does everything."""

    ONE = "one"
    BOTH = "both"

    @property
    def of_server(self) -> str:
        return str(SERVER_CORE) if self is Cores.ONE else f"{SERVER_CORE},{LOAD_CORE}"

    @property
    def of_load(self) -> str:
        return str(LOAD_CORE) if self is Cores.ONE else f"{SERVER_CORE},{LOAD_CORE}"

    @property
    def load_threads(self) -> int:
        return 1 if self is Cores.ONE else 2


def build() -> None:
    """The application, and the client of fixed rates."""
    # What an earlier run left must not be measured when this build fails.
    shutil.rmtree(PUBLISHED, ignore_errors=True)
    # Build servers would outlive the build and share the cores with the run.
    result = subprocess.run(
        ["dotnet", "publish", str(REPOSITORY / "samples" / "WebApi"), "-c", "Release", "-o", str(PUBLISHED),
         "--nologo", "-v", "quiet", "-tl:off", "--disable-build-servers"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"kestrel: the sample does not build:\n{result.stdout}")
    result = subprocess.run(["make", "-s", "-C", str(BENCH / "pace"), f"OUT={ARTIFACTS / 'pace'}"])
    if result.returncode != 0:
        sys.exit("kestrel: pace does not build")


class Application:
    """A context manager. It leads a session of its own, by which its members are found, and ended."""

    def __init__(self, transport: str, row: Row, cores: Cores):
        self.transport = transport
        self.cores = cores
        self._row = row
        self.port = free_port()
        self._log = ARTIFACTS / f"kestrel-{transport}.log"

    @property
    def url(self) -> str:
        scheme = "https" if self._row.wire.is_encrypted else "http"
        return f"{scheme}://127.0.0.1:{self.port}{self._row.target}"

    def __enter__(self) -> "Application":
        settings = {
            "TRANSPORT": self.transport,
            "URL": f"http://127.0.0.1:{self.port}",
            "HTTPS": "on" if self._row.wire.is_encrypted else "off",
            "PROTOCOLS": "Http2" if self._row.wire is Wire.HTTPS2 else "Http1",
        }
        # Should this script be killed outright, pdeathsig takes the server along.
        command = ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", self.cores.of_server, str(PUBLISHED / "WebApi")]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=os.environ | settings)
        try:
            self._await_listener()
            self._check_reply()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def has_exited(self) -> bool:
        return self._process.poll() is not None

    def others_ran_s(self) -> float:
        return session.others_ran_s(self._process.pid)

    def processor_s(self) -> float:
        """User and system time of its processes since they began."""
        ticks = 0
        for pid in session.members(self._process.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _await_listener(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not session.listening_inodes(self.port):
            if self.has_exited() or time.monotonic() > deadline:
                sys.exit(f"kestrel: {self.transport} does not serve: {self._log.read_text(errors='replace').strip()}")
            time.sleep(0.02)

    def _check_reply(self) -> None:
        http = "--http2" if self._row.wire is Wire.HTTPS2 else "--http1.1"
        seen = subprocess.run(
            ["curl", "-sSk", http, "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{http_version}", self.url],
            capture_output=True, text=True)
        version = "2" if self._row.wire is Wire.HTTPS2 else "1.1"
        expected = f"200 {self._row.body_bytes} {version}"
        if seen.stdout != expected:
            sys.exit(f"kestrel: {self.transport} answers {self.url} with '{seen.stdout}' in place of '{expected}' {seen.stderr}")

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                print(f"  {self.transport} ignored SIGTERM for {STOP_TIMEOUT_S} s and is killed", flush=True)
        for pid in session.members(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self._process.wait()
