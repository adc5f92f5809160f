"""The load of a row, as much as goes: http3load, and h2load for HTTP/2."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field

import sitefiles
from certificates import Certificate
from places import ARTIFACTS, BENCH, FILE_BYTES, FILE_NAME, SITE
from rows import LARGE, TEN, Row
from running import LOAD_CORE, pinned
from window import LoadFailure

HTTP3LOAD = ARTIFACTS / "http3load" / "http3load"
TWENTY = "twenty"
LARGE_NAME, LARGE_BYTES = "large.bin", 8 * 1024 * 1024


@dataclass(frozen=True)
class Counted:
    """What the load's program saw."""

    requests: int
    bytes: int
    seconds: float
    p50_us: int | None = None
    p99_us: int | None = None
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where the load runs, and what it asks. `prefix` enters a network namespace."""

    address: str
    port: int
    certificate: Certificate
    prefix: list[str]


def make_files() -> None:
    sitefiles.write_files(SITE / TWENTY)
    large = SITE / LARGE_NAME
    if not large.exists() or large.stat().st_size != LARGE_BYTES:
        large.write_bytes(os.urandom(LARGE_BYTES))


def press(row: Row, place: Place, is_http2: bool, seconds: float) -> Counted:
    return _h2load(row, place, seconds) if is_http2 else _http3load(row, place, seconds)


def _http3load(row: Row, place: Place, seconds: float) -> Counted:
    targets = ARTIFACTS / "http3-targets.txt"
    targets.write_text("".join(f"/{file} {size}\n" for file, size in _files(row)))
    counted = json.loads(_run(place, [
        str(HTTP3LOAD), place.address, str(place.port), str(place.certificate.certificate), str(targets), str(row.connections),
        str(row.streams), str(seconds), *_fields(row)]))
    wrong = {"resets": "streams were reset", "wrong": "answers were wrong", "closed": "connections ended"}
    faults = [f"{counted[kind]} {text} ({counted['reason']})" for kind, text in wrong.items() if counted[kind]]
    return Counted(counted["requests"], counted["bytes"], counted["seconds"], counted["p50_us"], counted["p99_us"], faults)


def _h2load(row: Row, place: Place, seconds: float) -> Counted:
    targets = ARTIFACTS / "http2-targets.txt"
    targets.write_text("".join(f"https://{place.address}:{place.port}/{file}\n" for file, _ in _files(row)))
    fields = [word for one in _fields(row) for word in ("-H", one)]
    # A window that no fast server fills, as http3load has.
    said = _run(place, ["h2load", "-t1", f"-c{row.connections}", f"-m{row.streams}", f"-D{max(1, round(seconds))}", "-w22", "-W24",
                        "--groups=X25519", *fields, "-i", str(targets)])
    good, *others = _read(said, r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx")
    _, errored, timed_out = _read(said, r"requests: .* (\d+) failed, (\d+) errored, (\d+) timeout")
    data_bytes, = _read(said, r"traffic: .* \((\d+)\) data")
    faults = []
    if errored or timed_out or sum(others):
        faults.append(f"{errored} errors, {timed_out} time-outs, {sum(others)} replies that are not 2xx")
    return Counted(good, data_bytes, float(max(1, round(seconds))), faults=faults)


def _files(row: Row) -> list[tuple[str, int]]:
    if row.files == TEN:
        return [(FILE_NAME, FILE_BYTES)]
    if row.files == LARGE:
        return [(LARGE_NAME, LARGE_BYTES)]
    return [(f"{TWENTY}/{name}", _coded(name)) for name in sitefiles.SIZES]


def _coded(name: str) -> int:
    file = SITE / TWENTY / name
    coded = file.with_name(f"{name}.br")
    return (coded if coded.exists() else file).stat().st_size


def _fields(row: Row) -> list[str]:
    return [] if row.files in (TEN, LARGE) else ["accept-encoding: br"]


def _read(said: str, pattern: str) -> list[int]:
    found = re.search(pattern, said)
    if found is None:
        raise LoadFailure(f"h2load: {said}")
    return [int(group) for group in found.groups()]


def _run(place: Place, command: list[str]) -> str:
    result = subprocess.run(place.prefix + pinned(LOAD_CORE, command), capture_output=True, text=True)
    if result.returncode != 0:
        raise LoadFailure(f"{os.path.basename(command[0])}: {(result.stderr or result.stdout).strip()}")
    return result.stdout
