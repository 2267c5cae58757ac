"""Switches without a controller: they keep their last flows, and their trees receive no BPDUs.

A starting controller knows from its snapshots which switches its predecessor served. Until all of
them are back, the trees of the connected ones must not rely on silence, or on an answer that came
through such a switch (see `stp.absence` and `stp.neighbour`). The same applies to the neighbours
of a switch whose connection ends. It ends when all are back, and in any case after `CAUTION`:
then an absent switch no longer traps the frames that its neighbours send to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.controller.bridges.openflow_datapath import TRAP_HELLOS

CAUTION = (TRAP_HELLOS + 1) * stp.OWN_HELLO_TIME[1] + 1
"""Seconds until an absent switch's traps expire and the bridge behind it has sent one hello."""


class Absentees:
    """`bridges` are the network's; apply: carries effects out.

    remembered: datapath ids of the switches that were served before this process.
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

    def greet(self, bridge: Bridge, now: float) -> None:
        """Handle a bridge that is new to this process.

        However long its switch and its neighbours' were without a controller: they may forward
        BPDUs until now, and these may still be under way.
        """
        bridge.stp.be_cautious(max(self._until, now))

    def expect(self, datapath_id: int, now: float) -> None:
        """Handle the end of a switch's master: another member or this one will replace it."""
        self._absent.add(datapath_id)
        self._until = max(self._until, now + CAUTION)

    def gone(self, bridge: Bridge, now: float) -> None:
        """Handle a disconnection: the switch is down, or only its connection is."""
        if not bridge.stp.runs:
            return
        self._absent.add(bridge.datapath_id)
        for other in self._bridges.values():
            if other is not bridge and other.stp.borders_on(bridge.address):
                self._apply(other, other.carry_out(other.stp.beware(now + CAUTION, now), now))

    def back(self, bridge: Bridge, now: float) -> None:
        """Handle a switch that has a controller again."""
        if bridge.datapath_id not in self._absent:
            return
        self.spoken_for(bridge.datapath_id, now)

    def spoken_for(self, datapath_id: int, now: float) -> None:
        """Handle a switch that has a controller again, this one or another member."""
        self._absent.discard(datapath_id)
        if not self._absent:
            self._until = now
            for each in self._bridges.values():
                if each.stp.cautious_until > now:
                    self._apply(each, each.carry_out(each.stp.calm(now), now))

    def forget(self, datapath_id: int) -> None:
        """Stop waiting for a switch."""
        self._absent.discard(datapath_id)
