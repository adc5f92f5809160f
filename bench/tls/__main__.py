"""The run: nginx and Millrace over TLS and HTTP/2, in interleaved rounds, row by row."""

import argparse
import contextlib
import os
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))
import certificates  # noqa: E402
import load  # noqa: E402
import network  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import servers  # noqa: E402
import sitefiles  # noqa: E402
from arguments import positive, several  # noqa: E402
from ending import end_on_signals  # noqa: E402
from places import ARTIFACTS, BENCH, SITE, make_site  # noqa: E402
from results import RowCell  # noqa: E402
from rows import ROWS, TWO_NGINXES, USUAL, Files, Row  # noqa: E402
from running import LOAD_CORE, RunningServer, StartFailure  # noqa: E402
from servers import BuildFailure, Server  # noqa: E402
from warmth import warm_up  # noqa: E402
from window import LoadFailure, Window  # noqa: E402


def main() -> int:
    end_on_signals()
    options = parse()
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    body = make_site()
    try:
        made = {key: certificates.make(key) for key in {row.key for row in options.rows}}
        chosen = {row.name: peers.of(row, options.servers, options.server, body, made[row.key]) for row in options.rows}
        build(options)
        make_twenty(options.rows)
    except (BuildFailure, ValueError) as failure:
        sys.exit(f"https: {failure}")
    network.isolate()
    # This script keeps off the measured core; after the build, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})

    cells: list[RowCell] = []
    failures: dict[str, str] = {}
    for row in options.rows:
        cells += measure_row(row, chosen[row.name], options, failures)
        write(options, cells, failures)  # So that a run that is broken off leaves what it has.
    return conclude(options, cells, sum(len(of_row) for of_row in chosen.values()), failures)


def build(options: argparse.Namespace) -> None:
    servers.build(["make", "-s", "-C", str(BENCH / "tlsload"), f"OUT={load.TLSLOAD}"])
    if options.program:
        servers.MILLRACE = options.program
    elif any(name.startswith("millrace") for name in options.servers):
        servers.publish_millrace()


def make_twenty(rows: list[Row]) -> None:
    """The files that rows ask for, and a .br beside each text, made by the program: nginx has none of its own."""
    sitefiles.write_files(SITE / load.TWENTY)
    if any(row.files is Files.CODED for row in rows):
        if not servers.MILLRACE.exists():
            servers.publish_millrace()
        servers.build([str(servers.MILLRACE), "precompress", str(SITE / load.TWENTY)])


def measure_row(row: Row, chosen: list[Server], options: argparse.Namespace, failures: dict[str, str]) -> list[RowCell]:
    """All servers are up at once, and one at a time has work: an idle one wakes once a second, for next to nothing."""
    with contextlib.ExitStack() as stack:
        up = [running for server in chosen if (running := start(row, server, stack, failures))]
        for running in up:
            print(f"{row.name:<17} {running.name:<14} warms up", flush=True)
            warm_up(running, lambda seconds, running=running: load.press(row, running.port, 0, seconds).requests)
        cells = []
        for round_ in range(options.rounds):
            # Another server begins each round, so that none is always the one behind another.
            turn = round_ % max(len(up), 1)
            for running in up[turn:] + up[:turn]:
                cells.append(measure(row, running, round_, options.seconds))
                say(cells[-1])
        return cells


def start(row: Row, server: Server, stack: contextlib.ExitStack, failures: dict[str, str]) -> RunningServer | None:
    try:
        return stack.enter_context(RunningServer(server))
    except StartFailure as failure:
        failures[f"{row.name}, {server.name}"] = str(failure)
        print(f"{row.name:<17} {server.name:<14} did not start:\n{textwrap.indent(str(failure), '  | ')}", flush=True)
        return None


def measure(row: Row, running: RunningServer, round_: int, seconds: int) -> RowCell:
    cell = RowCell(running.name, row.connections, round_, row=row.name)
    reply_bytes, cell.faults = load.check_reply(row, running.port, running.server.body)
    if cell.faults:
        return cell
    try:
        counted, window = Window.of(running, lambda: load.press(row, running.port, reply_bytes, seconds))
    except LoadFailure as failure:
        cell.faults.append(str(failure))
        return cell
    cell.take(window, counted.requests, counted.seconds)
    cell.p50_us, cell.p99_us = counted.p50_us, counted.p99_us
    cell.faults = window.faults(running) + counted.faults
    return cell


def say(cell: RowCell) -> None:
    p99 = f"p99 {cell.p99_us:>6,} us" if cell.p99_us is not None else ""
    verdict = f"THROWN AWAY: {'; '.join(cell.faults)}" if cell.faults else ""
    print(f"{cell.row:<17} {cell.server:<14} round {cell.round + 1}  {cell.requests_per_s:>8,.0f}/s"
          f"  {cell.core_us_per_request:7.2f} us  {p99}  {verdict}".rstrip(), flush=True)


def write(options: argparse.Namespace, cells: list[RowCell], failures: dict[str, str]) -> None:
    lines = results.summarize(cells, options.rows)
    settings = {name: getattr(options, name) for name in ("seconds", "rounds", "servers", "server")}
    versions = {"openssl": report.said(["openssl", "version"]), "h2load": report.said(["h2load", "--version"])}
    (ARTIFACTS / "https.md").write_text(results.markdown(lines, options.rounds) + "\n")
    (ARTIFACTS / "https.json").write_text(report.as_json({
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
    print(f"Written to {os.path.relpath(ARTIFACTS / 'https.md')} and https.json")
    return 0 if len(lines) == wanted else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="https", description="Millrace and nginx over TLS and HTTP/2; see bench/README.md.")
    names = {row.name: row for row in ROWS}
    parser.add_argument("--rows", type=lambda text: [names[word] for word in text.split(",")], default=[names[name] for name in USUAL],
                        metavar="NAME,...", help=f"of {', '.join(names)} only these (default {','.join(USUAL)})")
    parser.add_argument("--servers", type=several(TWO_NGINXES), default=TWO_NGINXES, metavar="NAME,...",
                        help=f"of {', '.join(TWO_NGINXES)} only these")
    parser.add_argument("--server", action="append", default=[], metavar="NAME=COMMAND",
                        help="compare this one too; {port}, {root}, {certificate} and {key} are filled in; may be repeated")
    parser.add_argument("--program", type=Path, help="measure this executable of Millrace, and build none")
    parser.add_argument("--seconds", type=positive, default=4, help="a measured window (default 4)")
    parser.add_argument("--rounds", type=positive, default=3, help="how often each server has its turn (default 3)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
