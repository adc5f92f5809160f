"""How the kernel's scheduler shares cores between a server and its load, where they have the same."""

import contextlib
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


class Groups(Enum):
    """ONE: each thread of both has its turn. APART: the server has a half and the load the other, as two containers have, and whoever has
    had less of late interrupts the other at once. Nothing is said of kernels that know no such groups.
    """

    ONE = "one"
    APART = "apart"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The kernel makes a group of each session (sched(7), autogroup), and a server leads one, so that it is found and ended as a whole:
        without a word it would be APART. What is started within is grouped so; the setting is the machine's, and put back.

        Ends the program where it may not be written.
        """
        before = AUTOGROUP.read_text() if AUTOGROUP.exists() else None
        wanted = "1" if self is Groups.APART else "0"
        if before is None or before.strip() == wanted:
            yield
            return
        try:
            AUTOGROUP.write_text(wanted)
        except OSError:
            sys.exit(f"{AUTOGROUP} has to be {wanted} for server and load to be {self.value} in the scheduler's eyes: be root, or ask for the other")
        try:
            yield
        finally:
            AUTOGROUP.write_text(before)
