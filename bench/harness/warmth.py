"""Load until a server is what it will be."""

from collections.abc import Callable

from running import ServerProcess
from window import LoadFailure

# A server whose compiler takes less of a core has compiled what it will: on one core that is after half a minute, not after seconds.
COMPILING_SHARE_MAX = 0.01
# Its compiler rests, too, while it waits for what runs with counters for it to settle, and that costs twice as much a request. So it is
# asked as well whether a request costs what it did a step ago, as far as a shared machine can tell.
AGREEING_SHARE_MAX = 0.06
STEP_S = 5
STEPS_MAX = 18


def warm_up(server: ServerProcess, press: Callable[[int], float], step_s: int = STEP_S) -> None:
    """Load until two steps agree and nothing was compiled meanwhile. A load that fails is said by the window behind it, and counted.

    `press` loads for so many seconds, and counts what was answered.
    """
    previous: float | None = None
    for _ in range(STEPS_MAX):
        compiled, worked = server.compiler_s(), server.processor_s()
        try:
            requests = press(step_s)
        except LoadFailure:
            continue
        cost = (server.processor_s() - worked) / max(requests, 1)
        is_compiled = server.compiler_s() - compiled < COMPILING_SHARE_MAX * step_s
        if is_compiled and previous is not None and abs(cost - previous) < AGREEING_SHARE_MAX * previous:
            return
        previous = cost if is_compiled else None
