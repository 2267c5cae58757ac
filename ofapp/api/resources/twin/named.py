"""Bridges, switches and ports that a question to the twin names."""

from __future__ import annotations

from collections.abc import Set

from ofapp.api.lookup import SHOWN, find_bridge, find_port
from ofapp.api.problems import field_problem
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.queries import switch_ports
from ofapp.bridge.twin.cable import SwitchPort
from ofapp.bridge.twin.fabric import LINKS, link_port
from ofapp.common.words import listed
from ofapp.config.base import port_number
from ofapp.controller.network import Network
from ofapp.controller.what_if import fabric_of


class Named:
    """Finds them.  copied: datapath ids of bridges that are copied.  Raises 404 and 409."""

    def __init__(self, network: Network, copied: Set[int]) -> None:
        self._network = network
        self._copied = copied

    def bridge(self, text: str) -> Bridge:
        """A bridge that is copied."""
        bridge = find_bridge(self._network, text)
        if bridge.datapath_id not in self._copied:
            what = f"bridge {bridge.name} has no connected switch: it is not copied"
            raise field_problem(409, "bridge", what)
        return bridge

    def switches(self, text: str) -> list[int]:
        """Datapath ids of the switch of a bridge, of a fabric's member, or of all its members."""
        name, member = self._split(text)
        bridge = self.bridge(name)
        fabric = fabric_of(self._network, bridge)
        if fabric is None and not member:
            return [bridge.datapath_id]
        members = () if fabric is None else fabric.params.present.values()
        found = [each.datapath_id for each in members if member in ("", each.name)]
        if fabric is None:
            raise field_problem(404, "fail", f"{name} is no fabric, and has no member {member}")
        if not found:
            names = listed(sorted(each.name for each in members), SHOWN)
            what = f"{name} has no member {member}; its members are: {names}"
            raise field_problem(404, "fail", what)
        return found

    def port(self, text: str) -> SwitchPort:
        """A port of a switch, a link port of a fabric too: no aggregation, and not LOCAL."""
        name, own = self._split(text)
        bridge = self.bridge(name)
        fabric, number = fabric_of(self._network, bridge), port_number(own)
        if fabric is not None and (end := fabric.links.ports().get(own)) is not None:
            return link_port(fabric, end)
        for port in switch_ports(bridge):
            named = port.name == own if number is None else port.number == number
            if named and port.number != LOCAL_PORT:
                return SwitchPort(bridge.datapath_id, port.number)
        find_port(bridge, own)
        what = f"{bridge.name}/{own} has no cable: name a port of the switch"
        raise field_problem(409, "port", what)

    def edge(self, text: str) -> SwitchPort:
        """The same without link ports: no host and no other bridge is there."""
        found = self.port(text)
        if found.port >= LINKS:
            raise field_problem(409, "port", f"{text} leads to another member of the fabric")
        return found

    def cable(self, one: str, other: str) -> tuple[SwitchPort, SwitchPort]:
        """The ends of a new cable: no link port, or two of one fabric."""
        a, b = self.port(one), self.port(other)
        links = [end.datapath_id for end in (a, b) if end.port >= LINKS]
        if links and links != [a.datapath_id] * 2:
            what = f"{one} and {other}: a new link of a fabric needs a link port at both ends"
            raise field_problem(409, "plug", what)
        return a, b

    def _split(self, text: str) -> tuple[str, str]:
        """The name of a bridge, and what follows it: a fabric's member may stand first, too."""
        name, _, rest = text.partition("/")
        homes = [
            fabric.params.name
            for fabric in self._network.fabrics.values()
            if any(member.name == name for member in fabric.params.present.values())
        ]
        if len(homes) == 1 and all(own.name != name for own in self._network.bridges.values()):
            return homes[0], text
        return name, rest
