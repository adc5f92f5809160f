"""The run: one application on each transport, in interleaved rounds, row by row."""

import argparse
import contextlib
import os
import statistics
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))
import cells  # noqa: E402
import load  # noqa: E402
import network  # noqa: E402
import report  # noqa: E402
import server  # noqa: E402
import table  # noqa: E402
from arguments import positive, several  # noqa: E402
from cells import Cell  # noqa: E402
from cores import Cores  # noqa: E402
from ending import end_on_signals  # noqa: E402
from places import ARTIFACTS  # noqa: E402
from rows import ROWS, Row  # noqa: E402
from running import LOAD_CORE  # noqa: E402
from scheduling import Groups  # noqa: E402
from server import TRANSPORTS, Application, transports_of  # noqa: E402
from warmth import warm_up  # noqa: E402


def main() -> int:
    end_on_signals()
    options = parse()
    options.transports = [*options.transports, *options.builds]
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    server.build()
    network.isolate()
    # This script keeps off the measured core; after the build, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})

    measured: list[Cell] = []
    with options.groups.held():
        for cores in options.cores:
            for row in options.rows:
                measured += measure_row(row, cores, options)
                write(options, measured)  # So that a run that is broken off leaves what it has.

    print(f"\n{table.markdown(measured, options.transports, list(options.builds))}\n\nWritten to {os.path.relpath(options.out)} and, as a table, beside it")
    wanted = len(options.cores) * len(options.connections) * sum(len(transports_of(row, options.transports)) for row in options.rows)
    got = {(cell.cores, cell.row, cell.connections, cell.transport) for cell in measured if not cell.faults}
    return 0 if len(got) == wanted else 1


def measure_row(row: Row, cores: Cores, options: argparse.Namespace) -> list[Cell]:
    """All transports are up at once, and one at a time has work: an idle one wakes once a second, for next to nothing."""
    measured: list[Cell] = []
    with contextlib.ExitStack() as stack:
        applications = [
            stack.enter_context(Application(transport, row, cores, options.builds.get(transport)))
            for transport in transports_of(row, options.transports)]
        for connections in options.connections:
            for application in applications:
                warm_up(application, lambda seconds, application=application: load.press(application, row, connections, seconds).requests)
            rounds = [press_round(applications, row, connections, round_, options) for round_ in range(options.rounds)]
            # By themselves: behind a window of all the load that goes, a shared machine is not what it is behind another one of half of it.
            rate = rate_of(rounds)
            if row.is_paced and rate is not None:
                warm_up_paced(applications, row, connections, rate)
                for fresh in rounds:
                    pace_round(fresh, row, rate, options)
            measured += [cell for fresh in rounds for cell in fresh.values()]
    return measured


# What each has in a round, in the order in which they had their turns.
Round = dict[Application, Cell]


def press_round(applications: list[Application], row: Row, connections: int, round_: int, options: argparse.Namespace) -> Round:
    # Another one begins each round, so that none is always the one behind another.
    turn = round_ % len(applications)
    fresh: Round = {}
    for application in applications[turn:] + applications[:turn]:
        fresh[application] = cells.press(application, row, connections, options.seconds, round_)
        say(fresh[application])
    return fresh


def rate_of(rounds: list[Round]) -> float | None:
    """Half of what sockets could do at most."""
    peaks = [
        cell.requests_per_s for fresh in rounds for cell in fresh.values() if cell.transport == table.CONTROL and not cell.faults]
    return statistics.median(peaks) / 2 if peaks else None


def warm_up_paced(applications: list[Application], row: Row, connections: int, rate: float) -> None:
    """Under a part of the load other code is hot than under all of it, and while it is compiled on the server's own core that core has
    other work for milliseconds at a time: that would be the percentile.
    """
    for application in applications:
        warm_up(application, lambda seconds, application=application: load.pace(application, row, connections, seconds, rate).requests)


def pace_round(fresh: Round, row: Row, rate: float, options: argparse.Namespace) -> None:
    for _ in range(options.paced_windows):
        for application, cell in fresh.items():
            cells.pace(application, row, cell, rate)
    for cell in fresh.values():
        say_paced(cell)


def say(cell: Cell) -> None:
    core = f"{cell.core_us:7.2f} us of the core" if cell.core_us is not None else " " * 22
    verdict = f"THROWN AWAY: {'; '.join(cell.faults)}" if cell.faults else ""
    print(f"{_place(cell)} {cell.requests_per_s:>9,.0f}/s {core} {cell.process_us:7.2f} us of the process  {verdict}".rstrip(), flush=True)


def say_paced(cell: Cell) -> None:
    p99 = f"p99 {', '.join(f'{p99_us:,}' for p99_us in cell.p99s_us)} us" if cell.p99s_us else ""
    verdict = f"THROWN AWAY: {'; '.join(cell.paced_faults)}" if cell.paced_faults else ""
    print(f"{_place(cell)} {cell.rate:>9,.0f}/s {p99} {verdict}".rstrip(), flush=True)


def _place(cell: Cell) -> str:
    return f"{cell.cores:<4} {cell.row:<12} x {cell.connections:<4} round {cell.round + 1}  {cell.transport:<15}"


def write(options: argparse.Namespace, measured: list[Cell]) -> None:
    settings = {name: getattr(options, name) for name in ("seconds", "rounds", "paced_windows", "connections", "transports")}
    settings["groups"] = options.groups.value
    options.out.with_suffix(".md").write_text(table.markdown(measured, options.transports, list(options.builds)) + "\n")
    options.out.write_text(report.as_json(
        {"conditions": report.conditions() | settings, "cells": [asdict(cell) for cell in measured]}))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kestrel", description="One ASP.NET Core application on each transport; see bench/README.md.")
    names = {row.name: row for row in ROWS}
    parser.add_argument("--rows", type=lambda text: [names[word] for word in text.split(",")], default=ROWS, metavar="NAME,...",
                        help=f"of {', '.join(names)} only these")
    parser.add_argument("--connections", type=lambda text: [positive(word) for word in text.split(",")], default=[64, 512], metavar="N,...",
                        help="the loads (default 64,512)")
    parser.add_argument("--cores", type=lambda text: [Cores(word) for word in text.split(",")], default=list(Cores), metavar="one,both",
                        help="how the two cores are shared out (default both ways)")
    parser.add_argument("--groups", type=Groups, default=Groups.ONE, metavar="one,apart",
                        help="whether server and load are one group to the scheduler where they share cores (default one)")
    parser.add_argument("--transports", type=several(TRANSPORTS), default=TRANSPORTS, metavar="NAME,...",
                        help=f"of {', '.join(TRANSPORTS)} only these")
    parser.add_argument("--build", action="append", default=[], type=another_build, metavar="NAME=FOLDER", dest="builds",
                        help="compare this one too: another build of samples/WebApi, published there, on Millrace; may be repeated")
    parser.add_argument("--seconds", type=positive, default=5, help="a measured window (default 5)")
    parser.add_argument("--rounds", type=positive, default=5, help="how often each transport has its turn (default 5)")
    parser.add_argument("--paced-windows", type=positive, default=5, metavar="N",
                        help="windows of a second at a fixed rate, in each round (default 5)")
    parser.add_argument("--out", type=Path, default=ARTIFACTS / "kestrel.json", metavar="FILE",
                        help="where the results go, a table beside them (default artifacts/bench/kestrel.json)")
    options = parser.parse_args()
    if strangers := {name for name, _ in options.builds} & {*TRANSPORTS}:
        parser.error(f"--build: {', '.join(sorted(strangers))} is a transport's name")
    options.builds = dict(options.builds)
    return options


def another_build(text: str) -> tuple[str, Path]:
    name, separator, folder = text.partition("=")
    if not (name and separator and (Path(folder) / "WebApi").is_file()):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=FOLDER with a published WebApi in the folder")
    return name, Path(folder).resolve()


if __name__ == "__main__":
    sys.exit(main())
