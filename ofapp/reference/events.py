"""The catalogue of events."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.api.event_kinds import KINDS
from ofapp.reference.table import code, head, plain, table


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    yield from head(
        "Events",
        "What the controller reports by `ofapp events`, its log, the API and the page: each kind"
        " with its severity, meaning, remedy and the keys of its data."
        " `ofapp events --kinds` shows the same.",
    )
    subjects = dict.fromkeys(name.partition(".")[0] for name in sorted(KINDS))
    for subject in subjects:
        yield f"## {subject}"
        kinds = [kind for name, kind in sorted(KINDS.items()) if name.partition(".")[0] == subject]
        rows = (
            [
                code(kind.name),
                ", ".join(severity.value for severity in kind.severities),
                plain(kind.meaning),
                plain(kind.remedy),
                " ".join(map(code, kind.fields.split())),
            ]
            for kind in kinds
        )
        yield table(["Kind", "Severity", "Meaning", "What to do", "Data"], rows)
