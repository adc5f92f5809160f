"""The load of a row, as much as goes, on the load's core: wrk, h2load or tlsload."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import cell
import sitefiles
from places import ARTIFACTS, BENCH, FILE_BYTES, FILE_NAME, SITE
from rows import Files, Life, Row
from running import LOAD_CORE, pinned
from window import LoadFailure

TLSLOAD = ARTIFACTS / "tlsload"
TWENTY = "twenty"
TARGETS = ARTIFACTS / "https-targets.txt"
REQUESTS = BENCH / "comparison" / "requests.lua"
HEAD_BYTES_MAX = 600
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


def url(row: Row, port: int, file: str = FILE_NAME) -> str:
    return f"{'https' if row.wire.is_encrypted else 'http'}://127.0.0.1:{port}/{file}"


def check_reply(row: Row, port: int, body: bytes) -> tuple[int, list[str]]:
    version = "--http1.1"
    if row.wire.is_http2:
        version = "--http2" if row.wire.is_encrypted else "--http2-prior-knowledge"
    if row.files is Files.ONE:
        return cell.check_reply(url(row, port), body, ["-k", version], environment())
    for file in _files(row):
        options = ["-k", version, *_fields(row)]
        reply_bytes, faults = cell.check_reply(url(row, port, f"{TWENTY}/{file}"), _body(row, file).read_bytes(), options, environment())
        if faults:
            return reply_bytes, [f"{file}: {fault}" for fault in faults]
    return reply_bytes, []


def press(row: Row, port: int, reply_bytes: int, seconds: int) -> Counted:
    """As many requests as go; `reply_bytes` is a whole reply's, as curl saw it."""
    if row.wire.is_http2:
        return _h2load(row, port, seconds)
    if row.life is not Life.KEPT:
        return _tlsload(row, port, seconds)
    return _wrk(row, port, reply_bytes, seconds)


def _wrk(row: Row, port: int, reply_bytes: int, seconds: int) -> Counted:
    if row.files is Files.ONE:
        counted = cell.run_wrk(url(row, port), row.connections, seconds, environment())
        faults = cell.wrk_faults(counted, row.connections, reply_bytes)
    else:
        counted = _wrk_in_turn(row, port, seconds)
        faults = _in_turn_faults(row, counted)
    return Counted(counted["requests"], counted["duration_us"] / 1e6, counted["p50_us"], counted["p99_us"], faults)


def _wrk_in_turn(row: Row, port: int, seconds: int) -> dict[str, int]:
    TARGETS.write_text("".join(f"/{TWENTY}/{file}\n" for file in _files(row)))
    command = cell.wrk_command(url(row, port, ""), row.connections, seconds, REQUESTS, options=_fields(row))
    script = {"MILLRACE_SUMMARY": str(cell.SUMMARY), "MILLRACE_DEPTH": "1", "MILLRACE_TARGETS": str(TARGETS)}
    return cell.read_wrk(pinned(LOAD_CORE, command), environment() | script)


def _in_turn_faults(row: Row, counted: dict[str, int]) -> list[str]:
    """But for one turn, and for what is in flight at the end, all files were answered equally often. Heads are some hundred bytes."""
    faults = cell.wrk_errors(counted)
    sizes = [_body(row, file).stat().st_size for file in _files(row)]
    least = counted["requests"] * sum(sizes) / len(sizes)
    slack = (row.connections + len(sizes)) * max(sizes)
    if not least - slack <= counted["bytes"] <= least + slack + counted["requests"] * HEAD_BYTES_MAX:
        faults.append(f"{counted['bytes']} bytes for {counted['requests']} bodies of {sum(sizes) / len(sizes):.0f}")
    return faults


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
        f"--tls13-ciphers={SUITE}", f"--groups={GROUP}", *_fields(row), *_targets(row, port)])
    read = partial(_read, said)
    _, errored, timed_out = read(r"requests: .* (\d+) failed, (\d+) errored, (\d+) timeout")
    good, *others = read(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx")
    data_bytes, = read(r"traffic: .* \((\d+)\) data")
    faults = []
    # At its end h2load cuts off what is in flight and calls that failed: only what it calls an error or a wrong status counts here.
    if errored or timed_out or sum(others):
        faults.append(f"{errored} errors, {timed_out} time-outs, {sum(others)} replies that are not 2xx")
    # It begins to count when all are connected, and then some have answers on the way; as at the end.
    sizes = [FILE_BYTES] if row.files is Files.ONE else [_body(row, file).stat().st_size for file in _files(row)]
    # Each connection asks for the files in turn, so it may have had one more of each but the last.
    in_flight = row.connections * (row.streams * max(sizes) + (sum(sizes) if len(sizes) > 1 else 0))
    if abs(data_bytes - good * sum(sizes) / len(sizes)) > in_flight:
        faults.append(f"{data_bytes} bytes for {good} bodies of {sum(sizes) / len(sizes):.0f}")
    if row.wire.is_encrypted:
        faults += [f"h2load did not say '{line}'" for line in (f"Cipher: {SUITE}", f"Server Temp Key: {GROUP}", "Application protocol: h2")
                   if line not in said]
    return Counted(good, float(seconds), faults=faults)


def _files(row: Row) -> list[str]:
    return [] if row.files is Files.ONE else list(sitefiles.SIZES)


def _body(row: Row, file: str) -> Path:
    """The file whose bytes are a right body."""
    plain = SITE / TWENTY / file
    return plain.with_name(f"{file}.br") if row.files is Files.CODED and sitefiles.is_coded(file) else plain


def _fields(row: Row) -> list[str]:
    return ["-H", "accept-encoding: br"] if row.files is Files.CODED else []


def _targets(row: Row, port: int) -> list[str]:
    if row.files is Files.ONE:
        return [url(row, port)]
    TARGETS.write_text("".join(f"{url(row, port, f'{TWENTY}/{file}')}\n" for file in _files(row)))
    return ["-i", str(TARGETS)]


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
