"""A row under one number of connections: everybody is there, and has a turn in each round."""

import argparse
from dataclasses import dataclass

import calls
import load
import replies
from cores import Cores
from entrants import Entrant
from field import Field, Runner
from record import CallCount, Record
from replies import Reply
from results import RowCell
from rows import Root, Row
from running import StartFailure
from warmth import STEP_S, warm_up
from window import BUSY_SHARE_MIN, LoadFailure, Window, wait_until_cores_rest

# For what is about a window and not in it: the cores' rest, the load's start and end, and looks into /proc.
OVERHEAD_S = 0.7
# Of load before the first round, for caches.
WARM_S = 1
# For who is compiled late until that is done. It takes longest in the first row; of another one only what is new in it is compiled.
STEP_AGAIN_S = 2
WARM_FIRST_S, WARM_AGAIN_S = 15, 5
# For the entity tags of a large site, whose files are all read.
TREE_START_S = 15
# To take all files out of the page cache, and to look whether they are.
DROP_S = 1


@dataclass(frozen=True)
class Meeting:
    row: Row
    cores: Cores
    connections: int
    entrants: list[Entrant]

    @property
    def _is_for_disk(self) -> bool:
        return self.row.root is Root.COLD

    @property
    def needs(self) -> set[tuple[str, Cores, bool]]:
        return {(entrant.name, self.cores, self.row.is_coded) for entrant in self.entrants}

    def hold(self, field: Field, options: argparse.Namespace, written: Record) -> None:
        present = self._gather(field, written)
        for round_ in range(options.rounds):
            # Another server begins each round, so that none is always the one behind another.
            turn = round_ % max(len(present), 1)
            for runner, reply in present[turn:] + present[:turn]:
                cell = self._measure(runner, reply, round_, options.seconds)
                self._say(cell)
                written.cells.append(cell)
        for runner, reply in present:
            self._count_calls(runner, reply, written)

    def _gather(self, field: Field, written: Record) -> list[tuple[Runner, Reply]]:
        """Those that are up and answer as they should, warm."""
        present = []
        for entrant in self.entrants:
            if entrant.name in written.failures:
                continue
            try:
                runner = field.runner(entrant, self.row, self.cores, self.connections)
            except StartFailure as failure:
                written.failures[f"{self.row.name}, {entrant.name}"] = f"did not start\n{failure}"
                print(f"{self.row.name:<10} {entrant.name:<17} did not start: {failure}", flush=True)
                continue
            reply = replies.look(runner, self.row)
            if not reply.faults:
                self._warm(runner, reply)
            present.append((runner, reply))
        return present

    def _warm(self, runner: Runner, reply: Reply) -> None:
        if runner.entrant.is_compiled_late and self.row.name not in runner.knows:
            step_s = STEP_AGAIN_S if runner.knows else STEP_S
            warm_up(runner, lambda seconds: self._press(runner, reply, seconds), step_s)
            runner.knows.add(self.row.name)
            return
        try:
            self._press(runner, reply, WARM_S)
        except LoadFailure as failure:
            print(f"{self.row.name:<10} {runner.name:<17} as it warms up: {failure}", flush=True)

    def _press(self, runner: Runner, reply: Reply, seconds: int) -> float:
        """Load that is not measured. What is wrong with it is so in the windows as well, and said there."""
        load.prepare(self.row)
        return load.press(runner, self.row, self.connections, reply, seconds).requests

    def _measure(self, runner: Runner, reply: Reply, round_: int, seconds: int) -> RowCell:
        cell = RowCell(runner.name, self.connections, round_, row=self.row.name, cores=self.cores.value, faults=list(reply.faults))
        if self._is_for_disk:
            # Who still reads would bring pages back into the cache that is emptied now.
            wait_until_cores_rest()
        cell.faults += [] if cell.faults else load.prepare(self.row)
        if cell.faults:
            return cell
        try:
            counted, window = Window.of(runner, lambda: load.press(runner, self.row, self.connections, reply, seconds))
        except LoadFailure as failure:
            cell.faults.append(str(failure))
            return cell
        cell.take(window, counted.requests, counted.seconds)
        if self.cores is Cores.BOTH:
            # The load is on these cores too: what the server's processes had is all that can be told apart.
            cell.core_us_per_request = window.processor_s * 1e6 / max(counted.requests, 1)
            cell.is_load_bound = False
        if self._is_for_disk:
            cell.waits_us = window.server_core.idle * 1e6 / max(counted.requests, 1) if self.cores is Cores.ONE else None
            cell.is_load_bound = False
        cell.p50_us, cell.p99_us, cell.p999_us = counted.p50_us, counted.p99_us, counted.p999_us
        cell.resident_bytes, cell.stale_s = runner.resident_bytes(), counted.stale_s
        cell.faults = window.faults(runner, 0 if self._is_for_disk else BUSY_SHARE_MIN) + counted.faults
        return cell

    def _count_calls(self, runner: Runner, reply: Reply, written: Record) -> None:
        if reply.faults or runner.has_exited():
            return
        load.prepare(self.row)
        try:
            each = calls.per_request(runner, self.row, self.connections, reply)
        except LoadFailure as failure:
            print(f"{self.row.name:<10} {runner.name:<17} as its calls are counted: {failure}", flush=True)
            return
        if each is not None:
            written.calls.append(CallCount(self.cores.value, self.row.name, self.connections, runner.name, each))

    def _say(self, cell: RowCell) -> None:
        verdict = f"THROWN AWAY: {'; '.join(cell.faults)}" if cell.faults else ""
        print(f"{cell.row:<10} x {cell.connections:<5} {cell.cores:<4} round {cell.round + 1}  {cell.server:<17} "
              f"{cell.requests_per_s:>10,.0f}/s  {cell.core_us_per_request:9.2f} us  {verdict}".rstrip(), flush=True)


def durations_s(meetings: list[Meeting], options: argparse.Namespace) -> list[float]:
    """About how long each of them will take, in this order."""
    known: set[tuple[object, ...]] = set()
    durations = []
    for meeting in meetings:
        warm_s = sum(_warm_s(meeting, entrant, known) for entrant in meeting.entrants)
        overhead_s = OVERHEAD_S + (DROP_S if meeting.row.root is Root.COLD else 0)
        turns = len(meeting.entrants) * options.rounds * (options.seconds + overhead_s)
        durations.append(warm_s + turns + len(meeting.entrants) * (calls.SECONDS + OVERHEAD_S))
    return durations


def _warm_s(meeting: Meeting, entrant: Entrant, known: set[tuple[object, ...]]) -> float:
    """`known`: servers that were up before, and their rows."""
    server = (entrant.name, meeting.cores, meeting.row.root, meeting.row.is_coded)
    seconds = WARM_FIRST_S if server not in known else WARM_AGAIN_S if (*server, meeting.row.name) not in known else WARM_S
    known |= {server, (*server, meeting.row.name)}
    if meeting.row.root in (Root.TREE, Root.COLD):
        seconds += TREE_START_S
    return seconds if entrant.is_compiled_late else WARM_S
