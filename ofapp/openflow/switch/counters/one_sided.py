"""Static aggregations whose partner sends by some members alone: it is active-backup, perhaps.

Such a partner takes no frames on its other members, so a share of what is sent to it is lost, and
without LACP it does not report that.  The symptom is that no frame comes by a member while many
come by the others.  A partner that hashes may do so, too, with few hosts: so there is an event,
and nothing is decided by it.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.lag.events import LAG_ONE_SIDED, LAG_ONE_SIDED_CLEARED
from ofapp.openflow.switch.switch_bridge import SwitchBridge

ENOUGH = 1000
"""Frames that have come by the other members."""
LONG = 25.0
"""Seconds without a frame by the one; a look at a switch every 30 s (`upkeep`) is to see it."""


class Quiet(NamedTuple):
    """A member that receives no frames.

    since: when that began; heard, others: frames by it and by the other members until then.
    """

    since: float
    heard: int
    others: int


class OneSided:
    """The members of one switch's static aggregations."""

    def __init__(self, bridge: SwitchBridge) -> None:
        self._bridge = bridge
        self._quiet: dict[int, Quiet] = {}
        self._reported: set[int] = set()  # those with an event that is not cleared

    def observe(self, heard: Mapping[int, int], now: float) -> Iterator[Event]:
        """heard: frames by each member since its flow is there."""
        seen: dict[int, Quiet] = {}
        for lag in self._bridge.lags.desired(self._bridge.params):
            if lag.lacp or len(lag.distributing) < 2:
                continue
            total = sum(heard.get(member, 0) for member in lag.distributing)
            for member in lag.distributing:
                new = Quiet(now, heard.get(member, 0), total - heard.get(member, 0))
                old = self._quiet.get(member, new)
                same = old.heard == new.heard and old.others <= new.others
                seen[member] = quiet = old if same else new
                frames, seconds = new.others - quiet.others, now - quiet.since
                if member not in self._reported and frames >= ENOUGH and seconds >= LONG:
                    self._reported.add(member)
                    yield _event(lag.number, member, frames, seconds)
        for member in [*self._reported]:
            if member not in seen or seen[member].since == now:
                self._reported.discard(member)
                text = PortNumber(member), ": frames come by this member again"
                yield LAG_ONE_SIDED_CLEARED.event(text, port=member)
        self._quiet = seen


def _event(lag: int, member: int, frames: int, seconds: float) -> Event:
    text = (
        PortNumber(member),
        f" has received no frame for {seconds:.0f} s, and the other members of ",
        PortNumber(lag),
        f" {frames}: a partner that is active-backup takes no frames there, and what is sent there"
        " is lost. Have it aggregate (802.3ad or balance-xor), or set max_links to 1",
    )
    data = {"lag": lag, "seconds": round(seconds), "frames": frames}
    return LAG_ONE_SIDED.event(text, member, data)
