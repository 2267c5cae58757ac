"""Cables between the bridges of a network without switches: what one sends another one hears."""

from __future__ import annotations

from collections import deque

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.lldp.pdu import NEAREST_BRIDGE
from ofapp.controller.network import Network

End = tuple[int, int]
"""(datapath id, port)."""

STEP = 0.1


def is_lldp(frame: bytes) -> bool:
    """Whether a frame is for LLDP; others are BPDUs here."""
    return frame.startswith(NEAREST_BRIDGE)


class Cables:
    """By their ends; frames that leave by any other port are lost."""

    def __init__(self, network: Network, *cables: tuple[End, End]) -> None:
        self._network = network
        self._far = {a: b for one, other in cables for a, b in ((one, other), (other, one))}

    def settle(self, begin: float, end: float) -> None:
        """Let time pass between two moments of core time."""
        now = begin
        while now < end:
            for bridge in self._network.bridges.values():
                self.carry(bridge, bridge.tick(now), now)
            now += STEP

    def carry(self, sender: Bridge, effects: list[Effect], now: float) -> None:
        """Frames arrive, and so do the answers to them."""
        waiting = deque([(sender, effects)])
        while waiting:
            bridge, batch = waiting.popleft()
            for effect in batch:
                for port in effect.ports if isinstance(effect, SendFrame) else ():
                    far = self._far.get((bridge.datapath_id, port))
                    if far is not None:
                        other = self._network.bridges[far[0]]
                        kind = "lldp" if is_lldp(effect.frame) else "bpdu"
                        waiting.append((other, other.hear(kind, [(far[1], effect.frame)], now)))
