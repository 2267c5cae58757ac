"""Result of a reader for a malformed message."""

from typing import NamedTuple


class Malformed(NamedTuple):
    """Octets that are not a valid message; `reason` names the counter of such frames."""

    reason: str
