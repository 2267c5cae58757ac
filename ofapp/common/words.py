"""Words of sentences that several parts of the program write alike."""

from collections.abc import Sequence


def listed(names: Sequence[str], most: int) -> str:
    """The first names, at most so many, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
