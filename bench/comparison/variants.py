"""Options of the server that are off as it comes: each of them is measured beside the server without it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """A build that does not know one of the flags says so, and the others go on. `needs_cores`: on one core it would change nothing."""

    name: str
    flags: str
    needs_cores: bool = False


VARIANTS = [
    Variant("millrace-polled", "--submission-polling 20"),
    Variant("millrace-polled-shared", "--submission-polling 20 --shared-submission-polling", needs_cores=True),
    Variant("millrace-pinned", "--pin-reactors", needs_cores=True),
    Variant("millrace-one-shot", "--one-shot-receive"),
    # The size from which on it is done: so that the rows' files are.
    Variant("millrace-zero-copy", "--zero-copy-send 4k"),
    Variant("millrace-cubic", "--congestion-control cubic"),
]
FLAGS = {variant.name: variant.flags for variant in VARIANTS}
