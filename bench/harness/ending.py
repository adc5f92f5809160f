"""How a run ends before its time."""

import signal


def end_on_signals() -> None:
    """Ctrl-C and its kin unwind the stack, and what was started is stopped on the way."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _: object) -> None:
        for each in ending:
            signal.signal(each, signal.SIG_IGN)  # A second Ctrl-C must not cut the stopping short.
        raise SystemExit(128 + number)

    for each in ending:
        signal.signal(each, end)
