"""The application on one transport, from start to stop, and the processor time that it has used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cores import Cores
from places import ARTIFACTS, BENCH, REPOSITORY
from rows import Life, Row, Wire
from running import ServerProcess, StartFailure, pinned

PUBLISHED = ARTIFACTS / "webapi"
TRANSPORTS = ["sockets", "sockets-inline", "millrace", "millrace-tls", "limit"]
# The transport that terminates TLS itself; all others have Kestrel's, and only where there is TLS do they differ.
TERMINATING = "millrace-tls"
# No transport, but what the kernel alone costs (bench/limit): no ratio can be higher than its own.
LIMIT = "limit"
LIMIT_PROGRAM = ARTIFACTS / "limit"


def build() -> None:
    """The application, the client of fixed rates, and the limit."""
    # What an earlier run left must not be measured when this build fails.
    shutil.rmtree(PUBLISHED, ignore_errors=True)
    # Build servers would outlive the build and share the cores with the run.
    result = subprocess.run(
        ["dotnet", "publish", str(REPOSITORY / "samples" / "WebApi"), "-c", "Release", "-o", str(PUBLISHED),
         "--nologo", "-v", "quiet", "-tl:off", "--disable-build-servers"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"kestrel: the sample does not build:\n{result.stdout}")
    for name in ("pace", "limit"):
        if subprocess.run(["make", "-s", "-C", str(BENCH / name), f"OUT={ARTIFACTS / name}"]).returncode != 0:
            sys.exit(f"kestrel: {name} does not build")


def transports_of(row: Row, transports: list[str]) -> list[str]:
    """The limit speaks no TLS and closes no connection; and what is pipelined it sends one by one, so that it is none there."""
    left_out = {LIMIT} if row.wire is not Wire.HTTP1 or row.life is not Life.KEPT or row.depth > 1 else set()
    if not row.wire.is_encrypted:
        left_out.add(TERMINATING)
    return [transport for transport in transports if transport not in left_out]


class Application(ServerProcess):
    """A context manager."""

    start_timeout_s = 20
    stop_timeout_s = 10

    def __init__(self, transport: str, row: Row, cores: Cores, build: Path | None = None):
        """With a build, it is that one on Millrace, and `transport` is only its name."""
        super().__init__(transport, ARTIFACTS / f"kestrel-{transport}.log")
        self.transport = transport
        self.cores = cores
        self._build = build
        self._row = row

    @property
    def url(self) -> str:
        scheme = "https" if self._row.wire.is_encrypted else "http"
        return f"{scheme}://127.0.0.1:{self.port}{self._row.target}"

    def __enter__(self) -> "Application":
        settings = {
            "TRANSPORT": "millrace" if self._build or self.transport == TERMINATING else self.transport,
            "URL": f"http://127.0.0.1:{self.port}",
            "HTTPS": self._https(),
            "PROTOCOLS": "Http2" if self._row.wire is Wire.HTTPS2 else "Http1",
            # Else each request has an Activity and a scope, for log lines that nobody writes; nginx in bench/quick has none either.
            "Logging__LogLevel__Default": "None",
        }
        try:
            self.start(pinned(self.cores.of_server, self._command()), os.environ | settings)
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

    def _command(self) -> list[str]:
        if self.transport == LIMIT:
            return [str(LIMIT_PROGRAM), str(self.port), str(self._row.body_bytes)]
        return [str((self._build or PUBLISHED) / "WebApi")]

    def _https(self) -> str:
        if not self._row.wire.is_encrypted:
            return "off"
        return "millrace" if self.transport == TERMINATING else "on"

    def _check_reply(self) -> None:
        http = "--http2" if self._row.wire is Wire.HTTPS2 else "--http1.1"
        seen = subprocess.run(
            ["curl", "-sSk", http, "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{http_version}", self.url],
            capture_output=True, text=True)
        version = "2" if self._row.wire is Wire.HTTPS2 else "1.1"
        expected = f"200 {self._row.body_bytes} {version}"
        if seen.stdout != expected:
            sys.exit(f"kestrel: {self.transport} answers {self.url} with '{seen.stdout}' in place of '{expected}' {seen.stderr}")
