"""The result as text: the file, with what is to be said about it as comments above."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.common.printable import printable
from ofapp.common.yaml_text import yaml_text
from ofapp.config import parse_config
from ofapp.migrate.draft import Draft, Outcome

REPORTED = (Outcome.LOST, Outcome.CHANGED)


def report(draft: Draft, everything: bool = False) -> Iterator[str]:
    """The lines for a person: notes by outcome, then steps; `everything`: also what is not needed.

    Call it after `text`, which adds the notes of refused values.
    """
    for outcome in Outcome if everything else REPORTED:
        if notes := draft.of(outcome):
            yield f"{outcome.value}:"
            yield from (f"  {printable(str(note))}" for note in notes)
    if draft.steps:
        yield "What you do next:"
        yield from (f"  {number}. {printable(step)}" for number, step in enumerate(draft.steps, 1))


def text(draft: Draft, source: str) -> str:
    """The file.  It has been read again and is valid."""
    config = draft.config()
    bridges = {key: bridge.values() for key, bridge in config.bridges.items()}
    lines = [f"Configuration of ofapp, imported from {source}.", *report(draft)]
    comment = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    written = f"{comment}\n{yaml_text({'bridges': bridges})}"
    parse_config(written.encode(), "the result")
    return written
