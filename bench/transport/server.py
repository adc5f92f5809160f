"""The application on one transport, from start to stop, and the processor time that it has used."""

import contextlib
import os
import shutil
import subprocess
import sys
from enum import Enum
from pathlib import Path

import session
from places import ARTIFACTS, BENCH, REPOSITORY
from rows import Row, Wire
from running import LOAD_CORE, SERVER_CORE, ServerProcess, StartFailure, pinned

PUBLISHED = ARTIFACTS / "webapi"
TRANSPORTS = ["sockets", "sockets-inline", "millrace"]


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


class Application(ServerProcess):
    """A context manager."""

    start_timeout_s = 20
    stop_timeout_s = 10

    def __init__(self, transport: str, row: Row, cores: Cores):
        super().__init__(transport, ARTIFACTS / f"kestrel-{transport}.log")
        self.transport = transport
        self.cores = cores
        self._row = row

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
        try:
            self.start(pinned(self.cores.of_server, [str(PUBLISHED / "WebApi")]), os.environ | settings)
        except StartFailure as failure:
            sys.exit(f"kestrel: {self.transport} does not serve: {failure}")
        try:
            self._check_reply()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def processor_s(self) -> float:
        """User and system time of its processes since they began."""
        ticks = 0
        for pid in session.members(self._process.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _check_reply(self) -> None:
        http = "--http2" if self._row.wire is Wire.HTTPS2 else "--http1.1"
        seen = subprocess.run(
            ["curl", "-sSk", http, "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{http_version}", self.url],
            capture_output=True, text=True)
        version = "2" if self._row.wire is Wire.HTTPS2 else "1.1"
        expected = f"200 {self._row.body_bytes} {version}"
        if seen.stdout != expected:
            sys.exit(f"kestrel: {self.transport} answers {self.url} with '{seen.stdout}' in place of '{expected}' {seen.stderr}")
