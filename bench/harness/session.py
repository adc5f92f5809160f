"""What /proc tells of a session's processes and of those that are not its own."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

# Processes may end between a listing and a look; then there is nothing to see.
_GONE = (FileNotFoundError, ProcessLookupError)

# The runtime's name for them, as far as the kernel keeps it.
_COMPILER = ".NET Tiered"
# What io_uring starts in a process: pollers of submissions (iou-sqp) and workers (iou-wrk).
_OF_THE_RING = "iou-"


def members(session: int) -> list[int]:
    return [pid for pid, fields in _stats() if int(fields[3]) == session]


def others_ran_s(session: int) -> float:
    """CPU time since boot of all but the session, ourselves (with wrk) and the kernel's threads, which may work for the server.

    The other servers of a run are our children too, and others: what one has left to do behind its own window is not the next one's cost.
    """
    kernel_threads, us, ours = 2, os.getpid(), os.getsid(0)
    ticks = 0
    for pid, fields in _stats():
        parent, of = int(fields[1]), int(fields[3])
        is_ours = pid == us or (parent == us and of == ours)
        if of != session and not is_ours and kernel_threads not in (pid, parent):
            # With the children that were waited for: what a compiler ran is not lost when it ends.
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def processor_s(session: int) -> float:
    return sum(_processor_s(Path(f"/proc/{pid}")) for pid in members(session))


def compiler_s(session: int) -> float:
    return sum(
        _processor_s(thread)
        for pid in members(session) for thread in Path(f"/proc/{pid}/task").glob("*") if _name(thread).startswith(_COMPILER))


def strays(session: int) -> list[str]:
    """The kernel's threads in its processes that may run where these may not. Before Linux 6.2 taskset did not hold them."""
    return [
        _name(thread).strip()
        for pid in members(session) for thread in Path(f"/proc/{pid}/task").glob("*")
        if _name(thread).startswith(_OF_THE_RING) and not _cores(int(thread.name)) <= _cores(pid)]


def resident_bytes(session: int) -> int:
    """What its processes have in memory; a page that several share is counted once."""
    proportional = "Pss:"
    kilobytes = 0
    for pid in members(session):
        with contextlib.suppress(*_GONE):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kilobytes += next(int(line.split()[1]) for line in lines if line.startswith(proportional))
    return kilobytes * 1024


def socket_inodes(session: int) -> set[str]:
    inodes = set()
    for pid in members(session):
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(descriptor)
            except _GONE:
                continue
            if target.startswith("socket:["):
                inodes.add(target.removeprefix("socket:[").removesuffix("]"))
    return inodes


def listening_inodes(port: int) -> set[str]:
    """The sockets, of whomever, that listen on a TCP port."""
    listening = "0A"
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue  # A kernel without IPv6.
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == listening and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _processor_s(task: Path) -> float:
    with contextlib.suppress(*_GONE):
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0


def _cores(task: int) -> set[int]:
    with contextlib.suppress(*_GONE):
        return os.sched_getaffinity(task)
    return set()


def _name(task: Path) -> str:
    with contextlib.suppress(*_GONE):
        return (task / "comm").read_text()
    return ""


def _stats() -> Iterator[tuple[int, list[str]]]:
    """Every process's stat fields behind its name, which may itself hold spaces and brackets."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except _GONE:
            continue
