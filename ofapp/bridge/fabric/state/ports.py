"""Ports of one member's switch: links to other members, and ports of the fabric's bridge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.ports.port import LOCAL_PORT, Port


class MemberPorts:
    """The ports of the bridge that are at a member, in its numbers, and those of its switch.

    Names are those of the bridge, as in `s1/eth0`.
    cut_off: the member does not reach most others, so aggregations are to do without its ports.
    links: ports of the switch that lead to other members; edges: its other ports.  Both are as the
    switch has them, by its numbers.
    """

    def __init__(self, params: FabricParams, bridge: Bridge, places: Places, member: int) -> None:
        self._complete = False
        self.cut_off = False
        self.links: dict[int, Port] = {}
        self.edges: dict[int, Port] = {}
        self._bridge = bridge
        self._places = places
        self._member = member
        self.set_params(params)

    @property
    def complete(self) -> bool:
        """Whether the switch has reported all of its ports; those of one make the bridge's known:
        a member may be disconnected for long."""
        return self._complete

    @complete.setter
    def complete(self, complete: bool) -> None:
        self._complete = complete
        self._bridge.ports.complete |= complete

    def set_params(self, params: FabricParams) -> None:
        """Take other patterns of link ports; the ports stay what they were."""
        self._fabric = params.name
        self._params = params.members[self._member - 1]

    def take(self, other: MemberPorts) -> None:
        """Take the ports of the same member in another fabric, which is copied."""
        self.cut_off, self._complete = other.cut_off, other.complete
        self.links, self.edges = {**other.links}, {**other.edges}
        for port in self.edges.values():
            self.of_bridge(port)  # it has its number again

    def is_link(self, port: Port) -> bool:
        """Whether a port of the switch leads to another member."""
        patterns = self._params.links
        return port.number != LOCAL_PORT and any(fnmatchcase(port.name, each) for each in patterns)

    def name(self, port: str) -> str:
        """The bridge's name for a port of the switch."""
        return f"{self._params.name}/{port}"

    def of_bridge(self, port: Port) -> Port | None:
        """A port of the switch as the bridge has it; None if there is no number left."""
        local = (self._member, port.number) == (1, LOCAL_PORT)
        name = self._fabric if local else self.name(port.name)
        number = self._places.put(self._member, port.number, name)
        if number is None:
            return None
        cut_off = self.cut_off and self._bridge.lags.has(name)
        return replace(port, number=number, name=name, cut_off=cut_off)

    def known(self, number: int) -> Port | None:
        """A port of the switch by its number."""
        return self.edges.get(number) or self.links.get(number)

    def physical(self) -> list[Port]:
        """All ports of the switch."""
        return [*self.edges.values(), *self.links.values()]

    def not_among(self, ports: Iterable[Port]) -> list[int]:
        """The numbers of ports that are not in this list, or have another name there."""
        names = {port.number: port.name for port in ports}
        return [old.number for old in self.physical() if names.get(old.number) != old.name]

    def get(self, number: int) -> Port | None:
        """The port of the bridge with this number at the member, or None."""
        known = self._places.number(self._member, number)
        port = None if known is None else self._bridge.ports.get(known)
        return None if port is None else replace(port, number=number)

    def __iter__(self) -> Iterator[Port]:
        """The ports of the bridge at the member."""
        return iter(self.among(self._bridge.ports))

    def among(self, ports: Iterable[Port]) -> list[Port]:
        """Return the bridge's ports that are at the member, in its numbers."""
        here = self._places.out(self._member, [(port.number, port) for port in ports])
        return [replace(port, number=number) for number, port in here]

    def __len__(self) -> int:
        """Number of ports of the switch."""
        return len(self.edges) + len(self.links)
