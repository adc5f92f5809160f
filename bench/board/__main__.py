"""The run: the board's profiles on ours and the peers, in interleaved rounds, profile by profile."""

import argparse
import contextlib
import os
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))
import content  # noqa: E402
import entries  # noqa: E402
import load  # noqa: E402
import network  # noqa: E402
import report  # noqa: E402
import scores  # noqa: E402
from arguments import positive, several  # noqa: E402
from ending import end_on_signals  # noqa: E402
from entrants import Entrant, entry_of  # noqa: E402
from places import ARTIFACTS, BENCH  # noqa: E402
from profiles import PROFILES, SERVERS, Port, Profile  # noqa: E402
from running import LOAD_CORE, StartFailure  # noqa: E402
from scores import ArenaCell  # noqa: E402
from servers import BuildFailure, build  # noqa: E402
from window import LoadFailure, Window  # noqa: E402


def main() -> int:
    end_on_signals()
    options = parse()
    if options.send_in:
        for folder in entries.send_in(options.send_in, options.repository):
            print(f"Written to {folder}: add it to the board's frameworks")
        return 0
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    try:
        prepare(options)
    except BuildFailure as failure:
        sys.exit(f"arena: {failure}")
    network.isolate()
    # This script keeps off the measured core; after the builds, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})
    cells: list[ArenaCell] = []
    with contextlib.ExitStack() as stack:
        up = start(options, stack)
        for profile in options.profiles:
            cells += measure_profile(profile, [up[key] for key in keys_of(profile, options) if key in up], options)
            write(options, cells)  # So that a run that is broken off leaves what it has.
    return conclude(options, cells)


def prepare(options: argparse.Namespace) -> None:
    """Builds the programs and the loads, and writes what is served."""
    for name in ("pace", "wsload"):
        build(["make", "-s", "-C", str(BENCH / name), f"OUT={ARTIFACTS / name}"])
    published = set()
    for name, is_grpc in all_keys(options):
        entry = entry_of(name, is_grpc)
        if entry and entry.published not in published and not (name == "millrace" and options.program):
            entry.publish()
            published.add(entry.published)
    program = options.program or (entry_of("millrace").published / "millrace")
    content.make(program if program.exists() else None)


Key = tuple[str, bool]


def keys_of(profile: Profile, options: argparse.Namespace) -> list[Key]:
    return [(name, profile.port is Port.GRPC) for name in profile.servers if name in options.servers]


def all_keys(options: argparse.Namespace) -> list[Key]:
    return list(dict.fromkeys(key for profile in options.profiles for key in keys_of(profile, options)))


def start(options: argparse.Namespace, stack: contextlib.ExitStack) -> dict[Key, Entrant]:
    """All servers are up at once, and one at a time has work: an idle one wakes once a second, for next to nothing."""
    up = {}
    for name, is_grpc in all_keys(options):
        try:
            up[name, is_grpc] = stack.enter_context(Entrant(name, is_grpc, options.program))
        except StartFailure as failure:
            print(f"{name} did not start:\n{textwrap.indent(str(failure), '  | ')}", flush=True)
    return up


def measure_profile(profile: Profile, entrants: list[Entrant], options: argparse.Namespace) -> list[ArenaCell]:
    faults = {entrant: load.check(entrant, profile) for entrant in entrants}
    for entrant in entrants:
        if not faults[entrant]:
            with contextlib.suppress(LoadFailure):  # The window behind it says so.
                load.press(entrant, profile, options.warmup)
    cells = []
    for round_ in range(options.rounds):
        # Another server begins each round, so that none is always the one behind another.
        turn = round_ % max(len(entrants), 1)
        for entrant in entrants[turn:] + entrants[:turn]:
            cells.append(measure(profile, entrant, round_, faults[entrant], options))
            say(cells[-1])
    return cells


def measure(profile: Profile, entrant: Entrant, round_: int, faults: list[str], options: argparse.Namespace) -> ArenaCell:
    cell = ArenaCell(profile.name, entrant.name, round_, profile.connections, faults=list(faults))
    if faults:
        return cell
    try:
        if options.cost == "group":
            measure_group(profile, entrant, cell, options.seconds)
        else:
            _, window = Window.of(entrant, lambda: measure_group(profile, entrant, cell, options.seconds))
            take(profile, entrant, cell, window)
    except LoadFailure as failure:
        cell.faults.append(str(failure))
    return cell


def measure_group(profile: Profile, entrant: Entrant, cell: ArenaCell, seconds: int) -> None:
    """A window of load, and what the server's processes used for it."""
    used, cell.is_of_group = entrant.used_s()
    counted = load.press(entrant, profile, seconds)
    used = entrant.used_s()[0] - used
    # pace asks before and behind the window that it counts, too, and what it asks there costs as much.
    requests = profile.rate * (seconds + load.PACE_OTHER_S) if profile.rate else max(counted.requests, 1)
    cell.requests_per_s, cell.p99_us, cell.requests = counted.requests / counted.seconds, counted.p99_us, counted.requests
    cell.cost_us = cell.group_us = used * 1e6 / requests
    cell.faults += counted.faults if counted.requests else ["no answer", *counted.faults]


def take(profile: Profile, entrant: Entrant, cell: ArenaCell, window: Window) -> None:
    """What the cores did meanwhile. At a fixed rate none is busy, and the cost is the control group's."""
    if profile.rate:
        cell.faults += window.disturbances(entrant)
        return
    cell.cost_us = window.server_core.busy * 1e6 / max(cell.requests, 1)
    cell.is_load_bound = window.is_load_bound
    cell.faults += window.faults(entrant)


def say(cell: ArenaCell) -> None:
    p99 = f"p99 {cell.p99_us:>7,} us" if cell.p99_us is not None else ""
    verdict = f"THROWN AWAY: {'; '.join(cell.faults)}" if cell.faults else ""
    print(f"{cell.profile:<13} {cell.server:<15} round {cell.round + 1}  {cell.requests_per_s:>9,.0f}/s  {cell.cost_us:8.2f} us  {p99}"
          f"  {verdict}".rstrip(), flush=True)


def write(options: argparse.Namespace, cells: list[ArenaCell]) -> None:
    settings = {name: getattr(options, name) for name in ("seconds", "warmup", "rounds", "servers", "cost")}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".md").write_text(scores.markdown(cells, options.cost) + "\n")
    options.out.write_text(report.as_json({"conditions": report.conditions() | settings, "cells": [asdict(cell) for cell in cells]}))


def conclude(options: argparse.Namespace, cells: list[ArenaCell]) -> int:
    """Prints the result; 1 when a server has a profile without a single good cell."""
    print(f"\n{scores.markdown(cells, options.cost)}\n\nWritten to {os.path.relpath(options.out)} and, as a table, beside it")
    wanted = {(profile.name, name) for profile in options.profiles for name, _ in keys_of(profile, options)}
    return 0 if wanted == {(cell.profile, cell.server) for cell in cells if not cell.faults} else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="arena", description="The profiles of the board HttpArena; see bench/README.md.")
    names = {profile.name: profile for profile in PROFILES}
    parser.add_argument("--profiles", type=several(list(names)), default=list(names), metavar="NAME,...",
                        help=f"of {', '.join(names)} only these")
    parser.add_argument("--servers", type=several(SERVERS), default=SERVERS, metavar="NAME,...",
                        help=f"of {', '.join(SERVERS)} only these")
    parser.add_argument("--seconds", type=positive, default=4, help="a measured window (default 4)")
    parser.add_argument("--warmup", type=positive, default=5, help="seconds of load on each server before a profile's rounds (default 5)")
    parser.add_argument("--rounds", type=positive, default=5, help="how often each server has its turn (default 5)")
    parser.add_argument("--cost", choices=["core", "group"], default="core",
                        help="what a request costs: the core's time (default), or that of the server's control group, which counts also where"
                        " others use the core, and leaves out what the kernel does in interrupts")
    parser.add_argument("--program", type=Path, help="measure this executable of Millrace, and build none")
    parser.add_argument("--out", type=Path, default=ARTIFACTS / "arena.json", metavar="FILE",
                        help="where the results go, a table beside them (default artifacts/bench/arena.json)")
    parser.add_argument("--send-in", type=Path, metavar="FOLDER", help="write the entries there, ready for the board, and measure nothing")
    parser.add_argument("--repository", default="", metavar="URL", help="with --send-in: where the sources are public")
    options = parser.parse_args()
    if options.send_in and not options.repository:
        parser.error("--send-in needs --repository")
    options.profiles = [names[name] for name in options.profiles]
    return options


if __name__ == "__main__":
    sys.exit(main())
