"""The run: everybody, row by row, in interleaved rounds; or the report of runs that were."""

import argparse
import json
import os
import sys
import textwrap
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))
import document  # noqa: E402
import entrants  # noqa: E402
import files  # noqa: E402
import network  # noqa: E402
import record  # noqa: E402
import servers  # noqa: E402
import tables  # noqa: E402
from arguments import positive, several  # noqa: E402
from cores import Cores  # noqa: E402
from ending import end_on_signals  # noqa: E402
from entrants import Entrant  # noqa: E402
from field import Field  # noqa: E402
from goals import Source, asked  # noqa: E402
from meeting import Meeting, durations_s  # noqa: E402
from places import ARTIFACTS  # noqa: E402
from record import Collection, Record  # noqa: E402
from results import Results  # noqa: E402
from rows import ROWS, Row  # noqa: E402
from running import LOAD_CORE  # noqa: E402
from scheduling import Groups  # noqa: E402
from servers import BuildFailure  # noqa: E402

WRITTEN_TO = ARTIFACTS / "run.json"


def main() -> int:
    end_on_signals()
    options = parse()
    if options.report is not None:
        return make_report(options.report, options.into)
    meetings = plan(options)
    announce(options, meetings)
    return 0 if options.plan else run(options, meetings)


def announce(options: argparse.Namespace, meetings: list[Meeting]) -> None:
    """What will be measured, and about when each row is done."""
    elapsed_s = 0.0
    for meeting, seconds in zip(meetings, durations_s(meetings, options), strict=True):
        elapsed_s += seconds
        print(f"{meeting.row.name:<12} x {meeting.connections:<5} {meeting.cores.value:<4} {len(meeting.entrants):>3} servers "
              f"{seconds / 60:>5.1f} minutes, at {elapsed_s / 60:.1f}")
    cells = options.rounds * sum(len(meeting.entrants) for meeting in meetings)
    print(f"{cells:,} windows of {options.seconds} s: about {elapsed_s / 60:,.0f} minutes, and some for the builds.", flush=True)


def run(options: argparse.Namespace, meetings: list[Meeting]) -> int:
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    files.make(options.rows)
    failures: dict[str, str] = {}
    if options.program:
        servers.MILLRACE = options.program.resolve()
    for entrant in options.entrants:
        build(entrant, failures)
    network.isolate()
    settings = {name: getattr(options, name) for name in ("seconds", "rounds", "server")} | {"command": sys.argv[1:], "groups": options.groups.value}
    written = Record(record.conditions(settings), failures=failures)
    written.conditions["sizes"] = entrants.sizes()
    # This script keeps off the measured core; after the builds, which may have both.
    os.sched_setaffinity(0, {LOAD_CORE})

    begun, held = time.monotonic(), []
    with options.groups.held(), Field() as field:
        for index, meeting in enumerate(meetings):
            if options.minutes and time.monotonic() - begun > options.minutes * 60:
                print(f"{options.minutes} minutes are over: {len(meetings) - len(held)} rows are left out.", flush=True)
                break
            held.append(meeting)
            meeting.hold(field, options, written)
            field.clear(set().union(*(later.needs for later in meetings[index + 1:])))
            written.write(options.out)  # So that a run that is broken off leaves what it has.
    return conclude(options, held, written)


def plan(options: argparse.Namespace) -> list[Meeting]:
    meetings = [
        Meeting(row, cores, connections, mine)
        for row in options.rows for cores in options.cores or row.cores for connections in options.connections or row.connections
        if (mine := taking_part(options, row, cores, connections))]
    if not meetings:
        sys.exit("run: none of these servers is in one of these rows, or no goal speaks of them")
    return meetings


def taking_part(options: argparse.Namespace, row: Row, cores: Cores, connections: int) -> list[Entrant]:
    names, place = {*row.servers, *options.strangers}, (row.name, connections)
    if options.rest and place == document.HEADLINE:
        return []
    if options.goals and place != document.HEADLINE:
        if place not in asked():
            return []
        names &= {*asked()[place], *options.strangers}
    return [entrant for entrant in options.entrants if entrant.name in names and cores in entrant.cores]


def build(entrant: Entrant, failures: dict[str, str]) -> None:
    try:
        entrant.build()
    except BuildFailure as failure:
        failures[entrant.name] = f"did not build\n{failure}"
        print(f"{entrant.name} did not build:\n{textwrap.indent(str(failure), '  | ')}", flush=True)


def conclude(options: argparse.Namespace, meetings: list[Meeting], written: Record) -> int:
    """Prints the result; 1 when a server that was asked for has a place without a single good cell."""
    results = Results(written.cells)
    for place in results.places:
        print(f"\n{place.row}, {place.connections} connections, {place.cores}\n{tables.place(results, place, written.calls)}")
    collection = Collection(cells={Source.RUN: written.cells})
    print(f"\n{tables.STANDINGS}\n\n{tables.standings_table(tables.standings(collection))}\n")
    print(f"Pairs, from which the medians are:\n{tables.pairs(results)}\n")
    print(tables.LEGEND)
    if thrown_away := sum(bool(cell.faults) for cell in written.cells):
        print(f"{thrown_away} of {len(written.cells)} cells were thrown away; their reasons stand above.")
    for name, failure in written.failures.items():
        print(f"{name}: {failure.splitlines()[0]}")
    print(f"Written to {os.path.relpath(options.out)}; bench/run --report {os.path.relpath(options.out)} makes the documents of it.")
    got = sum(len(results.lines(place)) for place in results.places)
    return 0 if got == sum(len(meeting.entrants) for meeting in meetings) else 1


def make_report(paths: list[Path], documents: Path) -> int:
    try:
        files = record.stored_in(paths) if paths else record.kept()
        for path in document.write(record.collect(files), documents):
            print(os.path.relpath(path))
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        sys.exit(f"run: --report: {error!r}")
    return 0


def parse() -> argparse.Namespace:
    known = entrants.known()
    names = [entrant.name for entrant in known]
    rows = {row.name: row for row in ROWS}
    parser = argparse.ArgumentParser(
        prog="run",
        description="Millrace beside every server that one would take in its place, and the kernel's own cost; see bench/README.md.")
    parser.add_argument("--rows", type=several(list(rows)), default=list(rows), metavar="NAME,...", help=f"of {', '.join(rows)} only these")
    parser.add_argument("--servers", type=several(names), default=names, metavar="NAME,...", help=f"of {', '.join(names)} only these")
    parser.add_argument("--server", action="append", default=[], metavar="NAME=COMMAND",
                        help="compare this one too, in every row; {port} and {root} are filled in; may be repeated")
    parser.add_argument("--connections", type=lambda text: [positive(word) for word in text.split(",")], metavar="N,...",
                        help="in place of the rows' own; 10000 is possible")
    parser.add_argument("--cores", type=lambda text: [Cores(word) for word in text.split(",")], metavar="one,both",
                        help="in place of the rows' own: a core for the server and one for the load, or both shared")
    parser.add_argument("--groups", type=Groups, default=Groups.ONE, metavar="one,apart",
                        help="whether server and load are one group to the scheduler where they share cores (default one)")
    parser.add_argument("--seconds", type=positive, default=3, help="a measured window (default 3)")
    parser.add_argument("--rounds", type=positive, default=9, help="how often each server has its turn (default 9)")
    parser.add_argument("--program", type=Path, help="measure this executable of Millrace, and build none")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--goals", action="store_true",
                      help="only where a goal speaks, and of whom, and everybody in the headline's place: these are worth more rounds")
    part.add_argument("--rest", action="store_true", help="all but the headline's place, which --goals has whole")
    parser.add_argument("--minutes", type=positive, metavar="N", help="begin no further row after so many of them")
    parser.add_argument("--plan", action="store_true", help="measure nothing: say what would be, and how long each row takes")
    parser.add_argument("--out", type=Path, default=WRITTEN_TO, metavar="FILE",
                        help="where the results go (default artifacts/bench/run.json)")
    parser.add_argument("--report", type=Path, nargs="*", metavar="FILE",
                        help="measure nothing: of files of this, bench/https and bench/kestrel, write docs/performance.md and its pictures "
                             "(default those in bench/results)")
    parser.add_argument("--into", type=lambda text: Path(text).resolve(), default=document.DOCUMENTS, metavar="FOLDER",
                        help="where performance.md is (default docs)")
    options = parser.parse_args()
    try:
        strangers = [entrants.added(definition) for definition in options.server]
    except ValueError as error:
        parser.error(f"--server: {error}")
    options.rows = [rows[name] for name in options.rows]
    options.entrants = [entrant for entrant in known if entrant.name in options.servers] + strangers
    options.strangers = [entrant.name for entrant in strangers]
    if len({entrant.name for entrant in options.entrants}) != len(options.entrants):
        parser.error("two servers have one name")
    return options


if __name__ == "__main__":
    sys.exit(main())
