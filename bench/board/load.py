"""The load of a profile, and the check of one answer before it: on the load's core."""

import gzip
import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import content
from entrants import Entrant
from places import ARTIFACTS, BENCH
from profiles import Load, Port, Profile
from running import LOAD_CORE, pinned
from window import LoadFailure

PACE, WSLOAD = ARTIFACTS / "pace", ARTIFACTS / "wsload"
REQUESTS_LUA = BENCH / "board" / "requests.lua"
SUMMARY = BENCH / "harness" / "summary.lua"
# A frame of gRPC: not compressed, 4 bytes, a = 1, b = 2; and the answer, 3.
GRPC_QUESTION = bytes([0, 0, 0, 0, 4, 8, 1, 16, 2])
GRPC_ANSWER = bytes([0, 0, 0, 0, 2, 8, 3])
SEPARATOR = b"\x1e"
# What pace asks before the window that it counts, and behind it.
PACE_OTHER_S = 1.5


@dataclass(frozen=True)
class Counted:
    """What the load's program saw."""

    requests: int
    seconds: float
    p99_us: int | None = None
    faults: list[str] = field(default_factory=list)


def environment() -> dict[str, str]:
    """Of what offers TLS: the one suite and group that is measured."""
    return os.environ | {"OPENSSL_CONF": str(BENCH / "tls" / "openssl.cnf")}


def press(entrant: Entrant, profile: Profile, seconds: int) -> Counted:
    match profile.load:
        case Load.WRK:
            return _wrk(entrant, profile, seconds)
        case Load.H2LOAD:
            return _h2load(entrant, profile, seconds)
        case Load.PACE:
            said = json.loads(_run([
                str(PACE), "http", str(entrant.ports[profile.port]), profile.targets[0], str(profile.connections),
                str(profile.rate), str(seconds), "1"]).stdout)
            return Counted(said["requests"], said["seconds"], said["p99_us"])
        case Load.WSLOAD:
            said = json.loads(_run([
                str(WSLOAD), str(entrant.ports[profile.port]), profile.targets[0], str(profile.connections), str(seconds)]).stdout)
            return Counted(said["requests"], said["seconds"])


def _wrk(entrant: Entrant, profile: Profile, seconds: int) -> Counted:
    file = ARTIFACTS / f"arena-{entrant.name}-{profile.name}.requests"
    file.write_bytes(SEPARATOR.join(requests_of(profile, urlsplit(entrant.url(profile.port, "/")).netloc)))
    own = {"MILLRACE_SUMMARY": str(SUMMARY), "ARENA_REQUESTS": str(file)}
    said = _run([
        "wrk", "-t1", f"-c{profile.connections}", f"-d{seconds}s", "-s", str(REQUESTS_LUA), entrant.url(profile.port, "/")], own)
    counted = json.loads(said.stderr)
    errors = {kind: counted[kind] for kind in ("connect", "read", "write", "timeout", "status") if counted[kind]}
    faults = [f"wrk: {errors}"] if errors else []
    return Counted(counted["requests"], counted["duration_us"] / 1e6, counted["p99_us"], faults)


def requests_of(profile: Profile, host: str) -> list[bytes]:
    """What wrk sends in turn. The connections share the turns, so that each lasts `life` requests on average."""
    kinds = [_request("GET", target, host, profile.coding) for target in profile.targets]
    if profile.has_bodies:
        target = profile.targets[0]
        kinds += [
            _request("POST", target, host, fields="Content-Length: 2\r\n", body="20"),
            _request("POST", target, host, fields="Transfer-Encoding: chunked\r\n", body="2\r\n20\r\n0\r\n\r\n"),
        ]
    turns = [kinds[turn % len(kinds)] for turn in range(len(kinds) * max(profile.life, 1))]
    if profile.life:
        turns = [
            request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) if turn % profile.life == 0 else request
            for turn, request in enumerate(turns)]
    return [request * profile.depth for request in turns]


def _request(method: str, target: str, host: str, coding: str = "", fields: str = "", body: str = "") -> bytes:
    fields += f"Accept-Encoding: {coding}\r\n" if coding else ""
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n{body}".encode()


def _h2load(entrant: Entrant, profile: Profile, seconds: int) -> Counted:
    file = ARTIFACTS / f"arena-{entrant.name}-{profile.name}.uris"
    file.write_text("".join(f"{entrant.url(profile.port, target)}\n" for target in profile.targets))
    options = ["-H", f"accept-encoding: {profile.coding}"] if profile.coding else []
    if profile.port is Port.GRPC:
        question = ARTIFACTS / "arena-grpc.bin"
        question.write_bytes(GRPC_QUESTION)
        options = ["-d", str(question), "-H", "content-type: application/grpc", "-H", "te: trailers"]
    said = _run([
        "h2load", "-t1", f"-c{profile.connections}", f"-m{profile.streams}", f"-D{seconds}", *options, "-i", str(file)]).stdout
    total = re.search(r"requests: .* (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", said)
    status = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", said)
    if total is None or status is None:
        raise LoadFailure(f"h2load: {said}")
    # At its end h2load cuts off what is in flight and calls that failed: only what it calls an error or a wrong status counts here.
    wrong = int(total[4]) + int(total[5]) + sum(int(status[i]) for i in (2, 3, 4))
    return Counted(int(status[1]), float(seconds), faults=[f"h2load: {wrong} errors"] if wrong else [])


def check(entrant: Entrant, profile: Profile) -> list[str]:
    """What is wrong with the answers to the profile's targets, one by one."""
    return [fault for target in profile.targets if (fault := _check(entrant, profile, target))]


def _check(entrant: Entrant, profile: Profile, target: str) -> str | None:
    if profile.load is Load.WSLOAD:
        return None  # It compares each answer itself.
    protocol = {Port.HTTP2: "--http2", Port.H2C: "--http2-prior-knowledge", Port.GRPC: "--http2-prior-knowledge"}
    command = ["curl", "-sSk", "--max-time", "10", "-w", "%{stderr}%{http_code}", protocol.get(profile.port, "--http1.1")]
    if profile.coding:
        # By gzip, which can be decoded here; the load asks for what the board asks for.
        command += ["-H", "Accept-Encoding: gzip"]
    if profile.port is Port.GRPC:
        file = ARTIFACTS / "arena-grpc.bin"
        file.write_bytes(GRPC_QUESTION)
        command += ["--data-binary", f"@{file}", "-H", "content-type: application/grpc", "-H", "te: trailers"]
    result = subprocess.run([*command, entrant.url(profile.port, target)], capture_output=True)
    if result.returncode or result.stderr != b"200":
        return f"{target}: {result.stderr.decode(errors='replace').strip()}"
    body = gzip.decompress(result.stdout) if result.stdout.startswith(b"\x1f\x8b") else result.stdout
    return None if _is_right(profile, target, body) else f"{target}: a wrong body: {body[:60]!r}"


def _is_right(profile: Profile, target: str, body: bytes) -> bool:
    numbers = [int(number) for number in re.findall(r"=(\d+)", target)]
    if target.startswith("/static/"):
        return body == (content.DATA / target.lstrip("/")).read_bytes()
    if target.startswith("/json/"):
        count = int(re.findall(r"/json/(\d+)", target)[0])
        return json.loads(body) == content.page(count, numbers[0])
    if profile.port is Port.GRPC:
        return body == GRPC_ANSWER
    return body == (b"ok" if target == "/pipeline" else str(sum(numbers)).encode())


def _run(command: list[str], own: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(pinned(LOAD_CORE, command), capture_output=True, text=True, env=environment() | (own or {}))
    if result.returncode != 0:
        raise LoadFailure(f"{Path(command[0]).name}: {(result.stderr or result.stdout).strip()}")
    return result
