"""The load of a row, as much as goes, on the load's core: wrk, h2load or tlsload."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import partial

import cell
from places import ARTIFACTS, BENCH, FILE_BYTES, FILE_NAME, SITE
from rows import Life, Row
from running import LOAD_CORE, pinned
from window import LoadFailure

TLSLOAD = ARTIFACTS / "tlsload"
SUITE = "TLS_AES_128_GCM_SHA256"
GROUP = "X25519"


@dataclass(frozen=True)
class Counted:
    """What the load's program saw."""

    requests: int
    seconds: float
    p50_us: int | None = None
    p99_us: int | None = None
    faults: list[str] = field(default_factory=list)


def environment() -> dict[str, str]:
    """Of what offers TLS: the one suite that is measured."""
    return os.environ | {"OPENSSL_CONF": str(BENCH / "tls" / "openssl.cnf")}


def url(row: Row, port: int) -> str:
    return f"{'https' if row.wire.is_encrypted else 'http'}://127.0.0.1:{port}/{FILE_NAME}"


def check_reply(row: Row, port: int, body: bytes) -> tuple[int, list[str]]:
    version = "--http1.1"
    if row.wire.is_http2:
        version = "--http2" if row.wire.is_encrypted else "--http2-prior-knowledge"
    return cell.check_reply(url(row, port), body, ["-k", version], environment())


def press(row: Row, port: int, reply_bytes: int, seconds: int) -> Counted:
    """As many requests as go; `reply_bytes` is a whole reply's, as curl saw it."""
    if row.wire.is_http2:
        return _h2load(row, port, seconds)
    if row.life is not Life.KEPT:
        return _tlsload(row, port, seconds)
    return _wrk(row, port, reply_bytes, seconds)


def _wrk(row: Row, port: int, reply_bytes: int, seconds: int) -> Counted:
    counted = cell.run_wrk(url(row, port), row.connections, seconds, environment())
    faults = cell.wrk_faults(counted, row.connections, reply_bytes)
    return Counted(counted["requests"], counted["duration_us"] / 1e6, counted["p50_us"], counted["p99_us"], faults)


def _tlsload(row: Row, port: int, seconds: int) -> Counted:
    counted = json.loads(_run([
        str(TLSLOAD), str(port), f"/{FILE_NAME}", str(SITE / FILE_NAME), str(row.connections), str(seconds), row.life.value]))
    wrong = {
        "handshake": "handshakes failed",
        "resumption": f"handshakes were not {row.life.value}",
        "suite": "handshakes chose another suite or group",
        "reply": "replies were wrong",
        "end": "connections ended without a close_notify",
    }
    faults = [f"{counted[kind]} {text}" for kind, text in wrong.items() if counted[kind]]
    return Counted(counted["requests"], counted["seconds"], counted["p50_us"], counted["p99_us"], faults)


def _h2load(row: Row, port: int, seconds: int) -> Counted:
    said = _run([
        "h2load", "-t1", f"-c{row.connections}", f"-m{row.streams}", f"-D{seconds}",
        f"--tls13-ciphers={SUITE}", f"--groups={GROUP}", url(row, port)])
    read = partial(_read, said)
    _, errored, timed_out = read(r"requests: .* (\d+) failed, (\d+) errored, (\d+) timeout")
    good, *others = read(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx")
    data_bytes, = read(r"traffic: .* \((\d+)\) data")
    faults = []
    # At its end h2load cuts off what is in flight and calls that failed: only what it calls an error or a wrong status counts here.
    if errored or timed_out or sum(others):
        faults.append(f"{errored} errors, {timed_out} time-outs, {sum(others)} replies that are not 2xx")
    # It begins to count when all are connected, and then some have answers on the way; as at the end.
    if abs(data_bytes - good * FILE_BYTES) > row.connections * row.streams * FILE_BYTES:
        faults.append(f"{data_bytes} bytes for {good} bodies of {FILE_BYTES}")
    if row.wire.is_encrypted:
        faults += [f"h2load did not say '{line}'" for line in (f"Cipher: {SUITE}", f"Server Temp Key: {GROUP}", "Application protocol: h2")
                   if line not in said]
    return Counted(good, float(seconds), faults=faults)


def _read(said: str, pattern: str) -> list[int]:
    found = re.search(pattern, said)
    if found is None:
        raise LoadFailure(f"h2load: {said}")
    return [int(group) for group in found.groups()]


def _run(command: list[str]) -> str:
    result = subprocess.run(pinned(LOAD_CORE, command), capture_output=True, text=True, env=environment())
    if result.returncode != 0:
        raise LoadFailure(f"{os.path.basename(command[0])}: {(result.stderr or result.stdout).strip()}")
    return result.stdout
