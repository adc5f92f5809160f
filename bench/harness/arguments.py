"""What is given on the command line of a run, checked."""

from collections.abc import Callable, Sequence


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def several(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads one or more of these names, with commas between."""
    def names(text: str) -> list[str]:
        words = text.split(",")
        if set(words) - set(known):
            raise ValueError(text)
        return words
    return names
