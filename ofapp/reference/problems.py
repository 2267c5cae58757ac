"""The catalogue of problems."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.controller.problems.catalogue import KINDS
from ofapp.reference.table import code, head, plain, table


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    yield from head(
        "Problems",
        "All that `ofapp problems` may list: each kind with its severity and meaning, what"
        " to look at, the command that helps, and when it ends. `ofapp problems kinds` shows the"
        " same.",
    )
    rows = [
        [
            code(kind.name),
            kind.severity.value,
            plain(kind.meaning),
            plain(kind.advice),
            code(kind.remedy) if kind.remedy else "",
            plain(kind.ends),
        ]
        for _, kind in sorted(KINDS.items())
    ]
    yield table(["Kind", "Severity", "Meaning", "What to look at", "Command", "It ends when"], rows)
