"""The VLANs of a bridge in which multicast is snooped, and the ports there.

On a bridge without VLAN configuration every port is in every VLAN. So a VLAN is snooped from the
first message in it, up to a limit for each port, as hosts can invent VIDs. Untagged frames, VLANs
with separate parameters and those with permanent entries are snooped in any case. So are all
configured VLANs where the bridge is querier: it must ask before any host has sent a report there.
"""

from collections.abc import Iterable

from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.multicast.effects import Effect
from ofapp.bridge.multicast.events import MCAST_VLANS, MCAST_VLANS_CLEARED
from ofapp.bridge.multicast.snooping import Snooping
from ofapp.bridge.state import BridgeState

MAX_VLANS = 256
"""Most VLANs that one port may introduce; a port that invents more harms only itself."""


class SnoopedVlans:
    """The VLANs that are snooped.

    vids: the VIDs.  ports: whether each port forwards.
    refused: messages in VLANs beyond the limit of their port.
    """

    def __init__(self, snooping: Snooping, state: BridgeState) -> None:
        self.snooping = snooping
        self.ports: dict[int, bool] = {}
        self.refused = 0
        self._state = state
        self.vids = {0, *state.params.multicast_vlans}
        self._introduced: dict[int, set[int]] = {}
        self._full: set[int] = set()

    def remove_ports(self, ports: Iterable[int]) -> None:
        """Forget ports, and that they are full."""
        for port in ports:
            del self.ports[port]
            self._introduced.pop(port, None)
            self._full.discard(port)

    def renew(self, at: float) -> list[Effect]:
        """Apply other ports or other VLANs of ports."""
        self.vids |= self._to_query()
        return [effect for vid in sorted(self.vids) for effect in self._set(vid, at)]

    def set_params(self, vids: Iterable[int], at: float) -> list[Effect]:
        """Snoop VLANs that have separate parameters, or had them, and those to query."""
        return [
            effect for vid in sorted({*vids} | self._to_query()) for effect in self.put(vid, at)
        ]

    def snoop(self, vids: Iterable[int], at: float) -> list[Effect]:
        """Snoop VLANs where entries are set, if that is not done yet."""
        return [effect for vid in sorted({*vids} - self.vids) for effect in self.put(vid, at)]

    def put(self, vid: int, at: float) -> list[Effect]:
        """Snoop a VLAN, with the parameters that it has now."""
        self.vids.add(vid)
        return self._set(vid, at)

    def _set(self, vid: int, at: float) -> list[Effect]:
        policies, params = self._state.port_policies, self._state.params.multicast_vlans.get(vid)
        members = [port for port in self.ports if policies.vlans(port).has(vid)]
        return self.snooping.set_vlan(vid, members, at, params)

    def _to_query(self) -> frozenset[int]:
        """Configured VLANs in which the bridge's querier asks, with or without hosts."""
        params = self._state.params.multicast
        asks = params is not None and params.vlan.mcast_querier
        return self._state.port_policies.configured - self.vids if asks else frozenset()

    def admit(self, vid: int, port: int, at: float) -> tuple[bool, list[Effect]]:
        """Snoop a VLAN from the first message in it; returns whether it is snooped.

        A port that has introduced too many VLANs gives up one without entries, if there is one.
        """
        if vid in self.vids:
            return True, []
        effects: list[Effect] = []
        mine, fixed = self._introduced.setdefault(port, set()), self._state.params.multicast_vlans
        if len(mine) >= MAX_VLANS:
            spare = (old for old in mine if old not in fixed and self.snooping.is_idle(old))
            idle = next(spare, None)
            if idle is None:
                self.refused += 1
                if port not in self._full:
                    self._full.add(port)
                    effects.append(_too_many(port))
                return False, effects
            mine.discard(idle)
            self.vids.discard(idle)
            effects += self.snooping.remove_vlan(idle, at)
        if port in self._full:
            self._full.discard(port)
            text = PortNumber(port), " has room for VLANs again"
            effects.append(MCAST_VLANS_CLEARED.event(text, port=port))
        mine.add(vid)
        return True, effects + self.put(vid, at)


def _too_many(port: int) -> Event:
    return MCAST_VLANS.event(
        (
            PortNumber(port),
            f" has brought up multicast in {MAX_VLANS} VLANs, the most one port may: "
            "in others it floods",
        ),
        port,
        {"limit": MAX_VLANS},
    )
