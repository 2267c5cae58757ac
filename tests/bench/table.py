"""Tables in Markdown, and the figures of several runs in one cell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ofapp.bench.figures import summary


def row(*cells: object) -> str:
    """One line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def head(*cells: str) -> str:
    """The two lines that begin a table: the first column holds names, the others figures."""
    return f"{row(*cells)}\n|---|{'--:|' * (len(cells) - 1)}"


def spread(values: Sequence[float], form: str = ".0f") -> str:
    """The median, and the least and the greatest value; "-" for no value.

    form: how a value is written, as for `format`.
    """
    if not values:
        return "-"
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def interval(values: Sequence[float], form: str = ".3f") -> str:
    """The median, and between what it is with a confidence of 95 % (`Summary`)."""
    found = summary(values)
    return f"{found.middle:{form}} ({found.low:{form}} to {found.high:{form}})"
