"""Load until a server is what it will be."""

import contextlib
from collections.abc import Callable

from running import ServerProcess
from window import LoadFailure

# A server whose compiler takes less of a core is what it will be: on one core that is after half a minute, not after seconds.
COMPILING_SHARE_MAX = 0.01
STEP_S = 5
STEPS_MAX = 18


def warm_up(server: ServerProcess, press: Callable[[int], object]) -> None:
    """Load until the runtime has compiled what it will. A load that fails is said by the window behind it, and counted."""
    for _ in range(STEPS_MAX):
        before = server.compiler_s()
        with contextlib.suppress(LoadFailure):
            press(STEP_S)
        if server.compiler_s() - before < COMPILING_SHARE_MAX * STEP_S:
            return
