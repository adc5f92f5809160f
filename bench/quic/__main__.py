"""The run: Millrace over HTTP/3 and HTTP/2, Caddy and ngtcp2's server, in interleaved rounds, row by row."""

import argparse
import contextlib
import os
import sys
import textwrap
import time
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "harness")]
import certificates  # noqa: E402
import load  # noqa: E402
import network  # noqa: E402
import path  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import servers  # noqa: E402
from arguments import positive, several  # noqa: E402
from ending import end_on_signals  # noqa: E402
from load import Place  # noqa: E402
from places import ARTIFACTS, SITE, make_site  # noqa: E402
from results import RowCell  # noqa: E402
from rows import ROWS, USUAL, Row  # noqa: E402
from running import LOAD_CORE, RunningServer, StartFailure  # noqa: E402
from servers import BuildFailure, Server  # noqa: E402
from warmth import warm_up  # noqa: E402
from window import LoadFailure, Window  # noqa: E402

# QUIC paces what it sends, so both ends wait a little at times; over a path both wait for that.
BUSY_MIN = 0.75


class DatagramServer(RunningServer):
    """A server that may listen for datagrams alone: it is up when it has a socket on its port."""

    def strange_listeners(self) -> int:
        return 0

    def _await_listener(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        while not any(line.split()[1].endswith(f":{self.port:04X}") for file in ("udp", "udp6")
                      for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]):
            if self.has_exited() or time.monotonic() > deadline:
                raise StartFailure(self.written() or "it has no socket on its port")
            time.sleep(0.02)


def main() -> int:
    end_on_signals()
    options = parse()
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    make_site()
    try:
        certificate = certificates.make(certificates.Key.ECDSA)
        build(options)
    except (BuildFailure, ValueError) as failure:
        sys.exit(f"http3: {failure}")
    network.isolate()
    # This script keeps off the measured core; after the build, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})

    cells: list[RowCell] = []
    failures: dict[str, str] = {}
    for row in options.rows:
        with path.opened(row.path) as (address, prefix):
            chosen = peers.of(options.servers, options.server, certificate, address)
            cells += measure_row(row, chosen, Place(address, 0, certificate, prefix), options, failures)
        write(options, cells, failures)  # So that a run that is broken off leaves what it has.
    return conclude(options, cells, len(options.rows) * (len(options.servers) + len(options.server)), failures)


def build(options: argparse.Namespace) -> None:
    path.build()
    servers.build(["dotnet", "publish", "bench/Millrace.Http3Load", "-c", "Release", "-o", str(load.HTTP3LOAD.parent),
                   "--disable-build-servers"])
    if options.program:
        servers.MILLRACE = options.program
    else:
        servers.publish_millrace()
    load.make_files()
    servers.build([str(servers.MILLRACE), "precompress", str(SITE / load.TWENTY)])


def measure_row(
        row: Row, chosen: list[Server], place: Place, options: argparse.Namespace, failures: dict[str, str]) -> list[RowCell]:
    """All servers are up at once, and one at a time has work."""
    with contextlib.ExitStack() as stack:
        up = [running for server in chosen if (running := start(row, server, stack, failures))]
        for running in up:
            print(f"{row.name:<17} {running.name:<14} warms up", flush=True)
            if row.path.is_loopback:
                warm_up(running, lambda seconds, running=running: press(row, running, place, seconds).requests)
        cells = []
        for round_ in range(options.rounds):
            # Another server begins each round, so that none is always the one behind another.
            turn = round_ % max(len(up), 1)
            for running in up[turn:] + up[:turn]:
                cells.append(measure(row, running, place, round_, options.seconds))
                say(cells[-1])
        return cells


def start(row: Row, server: Server, stack: contextlib.ExitStack, failures: dict[str, str]) -> RunningServer | None:
    try:
        return stack.enter_context(DatagramServer(server))
    except StartFailure as failure:
        failures[f"{row.name}, {server.name}"] = str(failure)
        print(f"{row.name:<17} {server.name:<14} did not start:\n{textwrap.indent(str(failure), '  | ')}", flush=True)
        return None


def press(row: Row, running: RunningServer, place: Place, seconds: float) -> load.Counted:
    there = Place(place.address, running.port, place.certificate, place.prefix)
    return load.press(row, there, running.name.endswith("http2"), seconds)


def measure(row: Row, running: RunningServer, place: Place, round_: int, seconds: int) -> RowCell:
    cell = RowCell(running.name, row.connections, round_, row=row.name)
    try:
        counted, window = Window.of(running, lambda: press(row, running, place, seconds))
    except LoadFailure as failure:
        cell.faults.append(str(failure))
        return cell
    cell.take(window, counted.requests, counted.seconds)
    cell.mbit_per_s = counted.bytes * 8 / 1e6 / counted.seconds
    cell.p50_us, cell.p99_us = counted.p50_us, counted.p99_us
    cell.faults = window.faults(running, BUSY_MIN if row.path.is_loopback else 0) + counted.faults
    return cell


def say(cell: RowCell) -> None:
    verdict = f"THROWN AWAY: {'; '.join(cell.faults)}" if cell.faults else ""
    print(f"{cell.row:<17} {cell.server:<14} round {cell.round + 1}  {cell.requests_per_s:>8,.0f}/s  {cell.mbit_per_s:>8,.1f} Mbit/s"
          f"  {cell.core_us_per_request:7.2f} us  {verdict}".rstrip(), flush=True)


def write(options: argparse.Namespace, cells: list[RowCell], failures: dict[str, str]) -> None:
    lines = results.summarize(cells, options.rows)
    settings = {name: getattr(options, name) for name in ("seconds", "rounds", "servers", "server")}
    versions = {"caddy": report.said(["caddy", "version"]), "h2load": report.said(["h2load", "--version"])}
    (ARTIFACTS / "http3.md").write_text(results.markdown(lines, options.rounds) + "\n")
    (ARTIFACTS / "http3.json").write_text(report.as_json({
        "conditions": report.conditions() | versions | settings,
        "failures": failures,
        "summary": [asdict(line) | {"verdict": line.verdict} for line in lines],
        "cells": [asdict(cell) for cell in cells],
    }))


def conclude(options: argparse.Namespace, cells: list[RowCell], wanted: int, failures: dict[str, str]) -> int:
    """Prints the result; 1 when a server that was asked for has a row without a single good cell."""
    lines = results.summarize(cells, options.rows)
    print(f"\n{results.markdown(lines, options.rounds)}\n")
    if thrown_away := sum(bool(cell.faults) for cell in cells):
        print(f"{thrown_away} of {len(cells)} cells were thrown away; their reasons stand above.")
    for name in failures:
        print(f"{name}: did not start")
    print(f"Pairs, from which the medians are:\n{results.pairs(cells, options.rows)}\n")
    print(f"Written to {os.path.relpath(ARTIFACTS / 'http3.md')} and http3.json")
    return 0 if len(lines) == wanted else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="http3", description="Millrace over HTTP/3 and its peers; see bench/README.md.")
    names = {row.name: row for row in ROWS}
    parser.add_argument("--rows", type=lambda text: [names[word] for word in text.split(",")], default=[names[name] for name in USUAL],
                        metavar="NAME,...", help=f"of {', '.join(names)} only these (default {','.join(USUAL)})")
    parser.add_argument("--servers", type=several(peers.NAMES), default=peers.NAMES, metavar="NAME,...",
                        help=f"of {', '.join(peers.NAMES)} only these")
    parser.add_argument("--server", action="append", default=[], metavar="NAME=COMMAND",
                        help="compare this one too; {address}, {port}, {root}, {certificate} and {key} are filled in; may be repeated")
    parser.add_argument("--program", type=Path, help="measure this executable of Millrace, and build none")
    parser.add_argument("--seconds", type=positive, default=4, help="a measured window (default 4)")
    parser.add_argument("--rounds", type=positive, default=3, help="how often each server has its turn (default 3)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
