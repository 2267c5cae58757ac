"""Notices that the configuration file has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ofapp.common import hub
from ofapp.config.load import signature

POLL = 1.0
"""Seconds between two checks of the file."""


def watch_file(find: Callable[[], Path | None], changed: Callable[[], None]) -> None:
    """Call `changed` whenever the file or a drop-in has changed; does not return.

    A file that is still being written changes between two checks: `changed` is called when it has
    been the same twice.  A file that is briefly missing, as with some editors, is waited for.
    """
    known = before = signature(find())
    while True:
        hub.sleep(POLL)
        now = signature(find())
        settled, before = now == before, now
        if now is not None and now != known and settled:
            known = now
            changed()
