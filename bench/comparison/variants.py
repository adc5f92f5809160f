"""Options of the server that are off as it comes: each of them is measured beside the server without it."""

from dataclasses import dataclass

from cores import Cores


@dataclass(frozen=True)
class Variant:
    """A build that does not know one of the flags says so, and the others go on. `cores`: with which of them it may change anything."""

    name: str
    flags: str
    cores: tuple[Cores, ...] = tuple(Cores)


VARIANTS = [
    Variant("millrace-polled", "--submission-polling 20"),
    Variant("millrace-polled-shared", "--submission-polling 20 --shared-submission-polling", cores=(Cores.BOTH,)),
    Variant("millrace-pinned", "--pin-reactors", cores=(Cores.BOTH,)),
    # The size from which on it is done: so that the rows' files are.
    Variant("millrace-zero-copy", "--zero-copy-send 4k"),
    # How many completions are dealt with before the kernel is called again: fewer send earlier, more save calls. It comes with 256.
    Variant("millrace-batch-16", "--completions-per-turn 16", cores=(Cores.ONE,)),
    Variant("millrace-batch-4096", "--completions-per-turn 4096", cores=(Cores.ONE,)),
    # Bodies are read for each answer: so these three, of which each has what the one before has.
    Variant("millrace-uncached", "--cache-max-file 0"),
    Variant("millrace-uncached-zero-copy", "--cache-max-file 0 --zero-copy-send 4k"),
    Variant("millrace-buffers", "--cache-max-file 0 --zero-copy-send 4k --registered-buffers 64m"),
    Variant("millrace-bbr", "--congestion-control bbr"),
]
FLAGS = {variant.name: variant.flags for variant in VARIANTS}
