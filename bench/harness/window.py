"""A window of load: what the cores did meanwhile, and what speaks against the machine or the server."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from running import LOAD_CORE, SERVER_CORE, ServerProcess

# One of the two cores must be the bottleneck, or the window holds a stall. Where it is the load's, the
# cost per request stands (time is charged only when the server works) but requests/s is wrk's figure:
# wrk needs about 8 us for a 10 KB reply, so no server cheaper than that fills its own core.
BUSY_SHARE_MIN = 0.90
# Of one core and the window. Above this the cores' times hold too much of somebody else's work.
OTHERS_SHARE_MAX = 0.05
# A window begins once both cores have rested for so long, but for a tick of the kernel's clock on each: a server with 10,000 connections
# to close works on behind its own window. Who goes on for longer than the patience is seen in the window.
REST_S = 0.2
REST_TICKS_MAX = 1
REST_PATIENCE_S = 20

Counted = TypeVar("Counted")


class LoadFailure(Exception):
    """The load's program could not do its work, as when the server has gone."""


@dataclass(frozen=True)
class CoreTimes:
    """Seconds of a core since boot.

    The core and not the process: the kernel does much of a server's work in soft interrupts, and
    charges them to whoever is running, to ksoftirqd or to nobody, as it was configured; ring workers
    and polling threads hide in the same way. On a core of its own all of it is the server's.
    """

    user: float
    system: float
    interrupts: float
    idle: float

    @staticmethod
    def now(core: int) -> "CoreTimes":
        line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} "))
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        user, nice, system, idle, iowait, irq, softirq, steal = (int(word) / ticks_per_s for word in line.split()[1:9])
        return CoreTimes(user + nice, system, irq + softirq, idle + iowait + steal)

    def since(self, before: "CoreTimes") -> "CoreTimes":
        return CoreTimes(
            self.user - before.user, self.system - before.system, self.interrupts - before.interrupts, self.idle - before.idle)

    @property
    def busy(self) -> float:
        return self.user + self.system + self.interrupts

    @property
    def busy_share(self) -> float:
        return self.busy / (self.busy + self.idle)


def wait_until_cores_rest() -> None:
    give_up = time.monotonic() + REST_PATIENCE_S
    while time.monotonic() < give_up:
        before = busy_ticks()
        time.sleep(REST_S)
        if all(now - then <= REST_TICKS_MAX for now, then in zip(busy_ticks(), before, strict=True)):
            return


def busy_ticks() -> list[int]:
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return [round(CoreTimes.now(core).busy * ticks_per_s) for core in (SERVER_CORE, LOAD_CORE)]


@dataclass(frozen=True)
class Window:
    """While one load was on. `processor_s`: of the server's processes."""

    server_core: CoreTimes
    load_core: CoreTimes
    others_share: float
    processor_s: float

    @staticmethod
    def of(server: ServerProcess, load: Callable[[], Counted]) -> tuple[Counted, "Window"]:
        wait_until_cores_rest()
        server_before, load_before = CoreTimes.now(SERVER_CORE), CoreTimes.now(LOAD_CORE)
        processor_before, others_before, started = server.processor_s(), server.others_ran_s(), time.monotonic()
        try:
            counted = load()
        except LoadFailure as failure:
            if server.has_exited():
                raise LoadFailure(f"the server ended; {failure}") from failure
            raise
        server_core = CoreTimes.now(SERVER_CORE).since(server_before)
        load_core = CoreTimes.now(LOAD_CORE).since(load_before)
        processor_s = server.processor_s() - processor_before
        others_s = server.others_ran_s() - others_before
        return counted, Window(server_core, load_core, others_s / (time.monotonic() - started), processor_s)

    @property
    def is_load_bound(self) -> bool:
        return self.server_core.busy_share < BUSY_SHARE_MIN

    def faults(self, server: ServerProcess, busy_min: float = BUSY_SHARE_MIN) -> list[str]:
        """`busy_min`: the busy share that one of the cores must have; 0 where both are meant to wait, as for a disk."""
        faults = self.disturbances(server)
        if max(self.server_core.busy_share, self.load_core.busy_share) < busy_min:
            faults.append(
                f"neither core was busy: the server's {self.server_core.busy_share:.0%}, the load's {self.load_core.busy_share:.0%}")
        return faults

    def disturbances(self, server: ServerProcess) -> list[str]:
        """What speaks against it whatever the load was."""
        faults = []
        if server.has_exited():
            faults.append("the server ended")
        if strange := server.strange_listeners():
            faults.append(f"{strange} listeners of others on the port")
        if strays := server.strays():
            faults.append(f"{', '.join(strays)}: the kernel may run them on the load's core")
        if self.others_share > OTHERS_SHARE_MAX:
            faults.append(f"others ran for {self.others_share:.0%} of the window")
        return faults
