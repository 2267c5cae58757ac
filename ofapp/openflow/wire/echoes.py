"""Longest silence of a switch, also while another connection claims its datapath id.

A switch that is busy for some seconds must not lose its connection to another that claims its id.
"""

import time

INTERVAL = 5.0
"""Seconds between echo requests to a switch."""

UNREPLIED = 2
"""Echo requests that may be without a reply when the next one is due."""

GIVEN_UP = INTERVAL * (UNREPLIED + 1)
"""Seconds of silence after which a switch is given up."""


class Unreplied(list[int]):
    """os-ken's list of the echo requests that have no reply yet, which also takes the time.

    round_trip: seconds that the last reply took to come, None before the first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.round_trip: float | None = None
        self._asked: dict[int, float] = {}

    def append(self, xid: int) -> None:
        """Note that a request is sent."""
        self._asked[xid] = time.monotonic()
        super().append(xid)

    def remove(self, xid: int) -> None:
        """Take in the reply to a request; ValueError for a request that was not sent."""
        super().remove(xid)
        self.round_trip = time.monotonic() - self._asked.pop(xid)
