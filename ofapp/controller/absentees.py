"""The switches that nobody speaks for: they forward as told last, and their trees are deaf.

A controller that begins knows from its snapshots which switches its predecessor had; until all of
them are back, the trees of those that are must not take silence, or an answer that came through
such a switch, for more than it is (see `stp.absence` and `stp.neighbour`). It is the same for the
neighbours of a switch whose connection ends. It ends when all are back, and in any case after
`CAUTION`: then an absent switch no longer keeps what its neighbours say to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.openflow.pipeline.admission import TRAP_HELLOS

CAUTION = (TRAP_HELLOS + 1) * stp.OWN_HELLO_TIME[1] + 1
"""Seconds: an absent switch's traps end, and whoever is behind it says hello once."""


class Absentees:
    """`bridges` are the network's; apply: has effects carried out.

    remembered: the datapath ids of the switches that were there before this process.
    """

    def __init__(
        self,
        bridges: Mapping[int, Bridge],
        apply: Callable[[Bridge, list[Effect]], None],
        remembered: Iterable[int],
        now: float,
    ) -> None:
        self._bridges = bridges
        self._apply = apply
        self._absent = set(remembered)
        self._until = now + CAUTION if self._absent else now

    def greet(self, bridge: Bridge) -> None:
        """A bridge is new to this process."""
        bridge.stp.be_cautious(self._until)

    def expect(self, datapath_id: int, now: float) -> None:
        """Who spoke for a switch has gone: another, or this one, will from now on."""
        self._absent.add(datapath_id)
        self._until = max(self._until, now + CAUTION)

    def gone(self, bridge: Bridge, now: float) -> None:
        """A switch's connection has ended, or the connection to it."""
        if not bridge.stp.runs:
            return
        self._absent.add(bridge.datapath_id)
        for other in self._bridges.values():
            if other is not bridge and other.stp.borders_on(bridge.address):
                self._apply(other, other.beware_stp(now + CAUTION, now))

    def back(self, bridge: Bridge, now: float) -> None:
        """A switch is spoken for again."""
        if bridge.datapath_id not in self._absent:
            return
        self.spoken_for(bridge.datapath_id, now)

    def spoken_for(self, datapath_id: int, now: float) -> None:
        """The same, by whoever."""
        self._absent.discard(datapath_id)
        if not self._absent:
            self._until = now
            for each in self._bridges.values():
                if each.stp.cautious_until > now:
                    self._apply(each, each.calm_stp(now))

    def forget(self, datapath_id: int) -> None:
        """Nobody counts on the switch any more."""
        self._absent.discard(datapath_id)
