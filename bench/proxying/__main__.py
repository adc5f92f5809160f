"""The run: three proxies in front of one upstream, in interleaved rounds, row by row."""

import argparse
import contextlib
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))
import network  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import servers  # noqa: E402
from arguments import positive, several  # noqa: E402
from ending import end_on_signals  # noqa: E402
from places import ARTIFACTS, make_site  # noqa: E402
from results import ProxyCell  # noqa: E402
from rows import ROWS, Row, press  # noqa: E402
from running import LOAD_CORE, RunningServer, StartFailure  # noqa: E402
from servers import BuildFailure  # noqa: E402
from warmth import warm_up  # noqa: E402


def main() -> int:
    end_on_signals()
    options = parse()
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    make_site()
    try:
        servers.build_limit()
        if options.program:
            servers.MILLRACE.parent.mkdir(parents=True, exist_ok=True)
            peers.MILLRACE = options.program
        elif "millrace" in options.servers:
            servers.publish_millrace()
    except BuildFailure as failure:
        sys.exit(f"proxy: {failure}")
    network.isolate()
    # This script keeps off the measured core; after the build, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})

    cells: list[ProxyCell] = []
    failures: list[str] = []
    small, large = peers.upstreams()
    with small, large:
        for is_http2 in (False, True):
            rows = [row for row in options.rows if row.is_http2 == is_http2]
            if rows:
                measure_protocol(rows, small.port, large.port, options, cells, failures)
    return conclude(options, cells, failures)


def measure_protocol(
        rows: list[Row], small: int, large: int, options: argparse.Namespace, cells: list[ProxyCell], failures: list[str]) -> None:
    """All proxies are up at once, and one at a time has work."""
    with contextlib.ExitStack() as stack:
        up = []
        for name in options.servers:
            try:
                up.append(stack.enter_context(RunningServer(peers.proxy(name, small, large, rows[0].is_http2))))
            except StartFailure as failure:
                failures.append(name)
                print(f"{name} did not start:\n{textwrap.indent(str(failure), '  | ')}", flush=True)
        for running in up:
            warm_up(running, lambda seconds, running=running: press(rows[0], running.port, seconds).requests)
            press(rows[-1], running.port, 1)
        for row in rows:
            for round_ in range(options.rounds):
                # Another begins each round, so that none is always the one behind another.
                turn = round_ % max(len(up), 1)
                for running in up[turn:] + up[:turn]:
                    cells.append(measure(row, running, round_, options.seconds))
                    say(cells[-1])


def measure(row: Row, running: RunningServer, round_: int, seconds: int) -> ProxyCell:
    """The processor time of the proxy's processes for each answer: whatever else the load's core does is not in it."""
    cell = ProxyCell(running.name, row.name, round_)
    if fault := check_reply(row, running.port):
        cell.faults.append(fault)
        return cell
    before, began = running.processor_s(), time.monotonic()
    counted = press(row, running.port, seconds)
    used, took = running.processor_s() - before, time.monotonic() - began
    cell.faults += counted.faults
    if not counted.requests:
        cell.faults.append("no answer")
        return cell
    cell.us_per_request = used * 1e6 / counted.requests
    cell.requests_per_s = counted.requests / counted.seconds
    cell.core_busy = used / took
    return cell


def check_reply(row: Row, port: int) -> str | None:
    protocol = "--http2-prior-knowledge" if row.is_http2 else "--http1.1"
    answer = subprocess.run(
        ["curl", "-s", "-o", "-", "-w", "%{http_code}", protocol, f"http://127.0.0.1:{port}/{row.size}"], stdout=subprocess.PIPE).stdout
    return None if len(answer) == row.body_bytes + 3 and answer.endswith(b"200") else f"curl got {len(answer)} bytes: {answer[-60:]!r}"


def say(cell: ProxyCell) -> None:
    verdict = f"THROWN AWAY: {'; '.join(cell.faults)}" if cell.faults else ""
    print(f"{cell.row:<14} {cell.server:<9} round {cell.round + 1}  {cell.requests_per_s:>8,.0f}/s  {cell.us_per_request:7.2f} us"
          f"  {cell.core_busy:4.0%} of the core  {verdict}".rstrip(), flush=True)


def conclude(options: argparse.Namespace, cells: list[ProxyCell], failures: list[str]) -> int:
    """Prints the result; 1 when a proxy has a row without a single good cell."""
    table = results.markdown(cells, options.servers)
    print(f"\n{table}\n")
    settings = {name: getattr(options, name) for name in ("seconds", "rounds", "servers")}
    versions = {"haproxy": report.said(["haproxy", "-v"]), "h2load": report.said(["h2load", "--version"])}
    (ARTIFACTS / "proxy.md").write_text(table + "\n")
    (ARTIFACTS / "proxy.json").write_text(report.as_json({
        "conditions": report.conditions() | versions | settings, "failures": failures, "cells": [asdict(cell) for cell in cells]}))
    print(f"Written to {os.path.relpath(ARTIFACTS / 'proxy.md')} and proxy.json")
    good = {(cell.server, cell.row) for cell in cells if not cell.faults}
    return 0 if len(good) == len(options.servers) * len(options.rows) else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proxy", description="Millrace, nginx and HAProxy in front of an upstream; see bench/README.md.")
    names = {row.name: row for row in ROWS}
    parser.add_argument("--rows", type=lambda text: [names[word] for word in text.split(",")], default=ROWS,
                        metavar="NAME,...", help=f"of {', '.join(names)} only these")
    parser.add_argument("--servers", type=several(peers.NAMES), default=peers.NAMES, metavar="NAME,...",
                        help=f"of {', '.join(peers.NAMES)} only these")
    parser.add_argument("--program", type=Path, help="measure this executable of Millrace, and build none")
    parser.add_argument("--seconds", type=positive, default=2, help="a measured window (default 2)")
    parser.add_argument("--rounds", type=positive, default=5, help="how often each has its turn (default 5)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
