"""What a reader returns instead of a message."""

from __future__ import annotations

from typing import NamedTuple


class Malformed(NamedTuple):
    """Octets that are not a valid message; `reason` names the counter of such frames."""

    reason: str
