"""The run: build what is compared, measure it in interleaved rounds, say what was seen."""

import argparse
import contextlib
import os
import sys
import textwrap
from pathlib import Path

import cell
import network
import report
import servers
from arguments import positive
from ending import end_on_signals
from places import ARTIFACTS, make_site
from running import LOAD_CORE, RunningServer, StartFailure
from servers import BuildFailure, Server
from warmth import warm_up


def main() -> int:
    end_on_signals()
    options = parse()
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    chosen = choose(options, make_site())
    failures: dict[str, str] = {}
    for server in chosen:
        build(server, failures)
    network.isolate()
    # The harness keeps off the measured core; after the builds, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})

    with contextlib.ExitStack() as stack:
        cells = measure(start([server for server in chosen if server.name not in failures], stack, failures), options)

    rows = report.summarize(cells)
    settings = {name: getattr(options, name) for name in ("seconds", "warmup", "rounds", "connections", "server", "observers")}
    report.write(written_to(options), settings, cells, rows, failures)
    return conclude(options, chosen, cells, rows, failures)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="quick", description="Millrace against the kernel's own cost and nginx; see bench/README.md.")
    parser.add_argument("--seconds", type=positive, default=5, help="the measured window of a cell (default 5)")
    parser.add_argument("--warmup", type=positive, default=1, help="seconds of load before each cell (default 1)")
    parser.add_argument("--rounds", type=positive, default=3, help="how often each server has its turn (default 3)")
    parser.add_argument("--connections", type=lambda text: [positive(word) for word in text.split(",")], default=[64, 512],
                        metavar="N,...", help="the loads (default 64,512)")
    parser.add_argument("--observers", action="store_true", help="in their place Millrace alone, with its access log, and with its admin pages")
    parser.add_argument("--only", metavar="NAME,...", help="of limit, nginx, nginx-copy, millrace (or of the observers) only these")
    parser.add_argument("--server", action="append", default=[], metavar="NAME=COMMAND",
                        help="compare this one too; {port} and {root} are filled in; may be repeated")
    return parser.parse_args()


def written_to(options: argparse.Namespace) -> Path:
    return ARTIFACTS / ("observers.json" if options.observers else "quick.json")


def choose(options: argparse.Namespace, body: bytes) -> list[Server]:
    chosen = servers.observed(body) if options.observers else servers.known(body)
    if options.only is not None:
        names = options.only.split(",")
        if strangers := set(names) - {server.name for server in chosen}:
            sys.exit(f"quick: --only: no server is called {', '.join(sorted(strangers))}")
        chosen = [server for server in chosen if server.name in names]
    try:
        chosen += [servers.added(definition, body) for definition in options.server]
    except ValueError as error:
        sys.exit(f"quick: --server: {error}")
    if len({server.name for server in chosen}) != len(chosen):
        sys.exit("quick: two servers have one name")
    return chosen


def build(server: Server, failures: dict[str, str]) -> None:
    try:
        server.build()
    except BuildFailure as failure:
        failures[server.name] = f"did not build:\n{failure}"
        say_failure(server.name, failures)


def start(chosen: list[Server], stack: contextlib.ExitStack, failures: dict[str, str]) -> list[RunningServer]:
    """All are up at once, and one at a time has work: an idle one wakes once a second, for next to nothing."""
    running = []
    for server in chosen:
        try:
            running.append(stack.enter_context(RunningServer(server)))
        except StartFailure as failure:
            failures[server.name] = f"did not start:\n{failure}"
            say_failure(server.name, failures)
    return running


def measure(competitors: list[RunningServer], options: argparse.Namespace) -> list[cell.Cell]:
    replies = {running.name: cell.check_reply(cell.url_of(running), running.server.body) for running in competitors}
    for running in competitors:
        if not replies[running.name][1]:
            print(f"{running.name} warms up", flush=True)
            url = cell.url_of(running)
            warm_up(running, lambda seconds, url=url: cell.run_wrk(url, options.connections[0], seconds)["requests"])

    cells = []
    for round_ in range(options.rounds):
        # Another server begins each round, so that none is always the one after a pause.
        turn = round_ % max(len(competitors), 1)
        for running in competitors[turn:] + competitors[:turn]:
            cells += measure_server(running, round_, *replies[running.name], options)
    return cells


def measure_server(running: RunningServer, round_: int, reply_bytes: int, faults: list[str], options: argparse.Namespace) -> list[cell.Cell]:
    cells = []
    for connections in options.connections:
        measured = cell.Cell(running.name, connections, round_, faults=faults)
        if not faults:
            measured = cell.measure(running, cell.Load(connections, options.warmup, options.seconds), round_, reply_bytes)
        say_cell(measured)
        cells.append(measured)
    return cells


def say_cell(measured: cell.Cell) -> None:
    verdict = f"THROWN AWAY: {'; '.join(measured.faults)}" if measured.faults else ""
    print(f"round {measured.round + 1}  {measured.server:<12} {measured.connections:>5} connections"
          f"  {measured.requests_per_s:>8,.0f}/s  {measured.core_us_per_request:6.2f} us  {verdict}", flush=True)


def say_failure(name: str, failures: dict[str, str]) -> None:
    print(f"{name} {textwrap.indent(failures[name], '  | ').lstrip(' |')}", flush=True)


def conclude(options: argparse.Namespace, chosen: list[Server], cells: list[cell.Cell], rows: list[report.Row], failures: dict[str, str]) -> int:
    """Prints the result; 1 when a server that was asked for has a load without a single good cell."""
    print()
    print(report.markdown(rows, options.rounds) if options.observers else report.table(rows, options.rounds))
    thrown_away = sum(bool(measured.faults) for measured in cells)
    if thrown_away:
        print(f"{thrown_away} of {len(cells)} cells were thrown away; their reasons stand above.")
    for name, failure in failures.items():
        print(f"{name} {failure.partition(':')[0]}")
    print(f"Written to {os.path.relpath(written_to(options))}")
    return 0 if len(rows) == len(chosen) * len(options.connections) else 1


if __name__ == "__main__":
    sys.exit(main())
