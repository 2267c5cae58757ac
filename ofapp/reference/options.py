"""The options of ofapp-manager."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.launcher.options import described
from ofapp.reference.table import code, head, plain, table


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    yield from head(
        "Launch options",
        "Options of `ofapp-manager`, which runs the controller. The service gets them from"
        " `OFAPP_OPTIONS` in `/etc/default/ofapp`. What the configuration file can say too is in"
        " [its reference](reference-configuration.md); an option is stronger than the file.",
    )
    rows = ([code(option), plain(sentence)] for option, sentence in described())
    yield table(["Option", "Meaning"], rows)
