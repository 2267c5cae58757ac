"""The state of a laboratory, in the shape of the API's answers: so the page's map draws it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.bridge.multicast import SetGroup
from ofapp.bridge.packet.address import text
from ofapp.bridge.packet.ethernet import IPV4
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.queries import fdb_tables, logical_port, port_states
from ofapp.bridge.stp import bpdu
from ofapp.bridge.stp.vectors import format_bridge_id
from ofapp.bridge.twin.cable import Cable, SwitchPort
from ofapp.bridge.twin.network import HEARD
from ofapp.lab.laboratory import Laboratory
from ofapp.lab.network import HOSTS, Underway, mac_at, mac_of
from ofapp.lab.settings import Settings

LOG = 60
"""Lines of the log that are shown."""


def view(lab: Laboratory) -> dict[str, Any]:
    """Everything, as JSON-serialisable data."""
    seen = _View(lab)
    return {
        "now": lab.network.now,
        "bridges": [seen.bridge(number) for number in sorted(lab.settings)],
        "hosts": [seen.host(number) for number in sorted(lab.hosts)],
        "map": {
            "bridges": [seen.map_bridge(number) for number in sorted(lab.settings)],
            "links": [*seen.links()],
            "neighbours": [*seen.neighbours()],
        },
        "cables": [*seen.cables()],
        "log": [{"at": at, "text": said} for at, said in lab.log[-LOG:]],
        "lost": lab.network.lost,
    }


class _View:
    def __init__(self, lab: Laboratory) -> None:
        self._lab = lab
        self._trees = {number: lab.tree(number) for number in lab.settings}
        self._hosts = {mac_of(number): lab.name(number) for number in lab.hosts}

    # Bridges and hosts

    def bridge(self, number: int) -> dict[str, Any]:
        bridge, settings = self._lab.network.bridges[number], self._lab.settings[number]
        tree = self._trees[number]
        learned = {port.name: 0 for port in bridge.ports}
        addresses = []
        for vid, table in fdb_tables(bridge).items():
            for mac, entry in table.items():
                port = bridge.ports.get(entry.port)
                if entry.was_learned and port is not None:
                    learned[port.name] += 1
                    said = self._hosts.get(mac, format_mac(mac))
                    addresses.append({"host": said, "vlan": vid, "port": port.name})
        return {
            "datapath_id": _id(number),
            "name": self._lab.name(number),
            "settings": _settings(settings),
            "root_path_cost": tree and tree.root_path_cost,
            "bridge_id": tree and format_bridge_id(tree.bridge_id),
            "root_id": tree and format_bridge_id(tree.root),
            "ports": [self._port(number, bridge, port.number) for port in bridge.ports if port.up],
            "fdb": {"learned_by_port": learned},
            "addresses": addresses,
            "groups": [*_groups(bridge)],
        }

    def _port(self, number: int, bridge: Bridge, port: int) -> dict[str, Any]:
        state, tree = port_states(bridge).get(port), self._tree_port(number, port)
        ours = bridge.ports.get(port)
        vlans = bridge.port_policies.vlans(port)
        return {
            "name": ours.name if ours else "",
            "local": port == LOCAL_PORT,
            "role": tree and tree.role.value,
            "state": state and state.value,
            "reason": tree.reason if tree else "",
            "edge": bool(tree and tree.oper_edge),
            "waits": tree and tree.timers.get("fdWhile"),
            "vlan": vlans.pvid if not vlans.transparent else None,
            "members": [f"eth{each}" for each in bridge.lags.members().get(port, ())],
            "in_use": [f"eth{each}" for each in bridge.lags.in_use(port)],
        }

    def _tree_port(self, number: int, port: int) -> Any:
        tree = self._trees[number]
        return next((each for each in tree.ports if each.port == port), None) if tree else None

    def host(self, number: int) -> dict[str, Any]:
        received = {
            self._hosts[each.source]: times
            for each, times in self._lab.network.received.items()
            if each.host == number and each.source in self._hosts
        }
        groups = [text(group) for group in sorted(self._lab.network.groups[number])]
        return {"name": self._lab.name(number), "received": received, "groups": groups}

    def map_bridge(self, number: int) -> dict[str, Any]:
        tree = self._trees[number]
        return {
            "datapath_id": _id(number),
            "name": self._lab.name(number),
            "connected": True,
            "bridge_id": tree and format_bridge_id(tree.bridge_id),
            "root": tree and tree.root == tree.bridge_id,
            "root_id": tree and format_bridge_id(tree.root),
        }

    # Cables

    def links(self) -> Iterator[dict[str, Any]]:
        """Links between bridges; the cables of an aggregation are one link."""
        links: dict[tuple[tuple[int, int], ...], list[Cable]] = {}
        for each in sorted(self._lab.network.cables | self._lab.unplugged):
            if each.b.datapath_id < HOSTS:
                links.setdefault(tuple(map(self._logical, each)), []).append(each)
        for (a, b), cables in links.items():
            lags = [name if "bond" in name else None for name in map(self._port_name, (a, b))]
            members = [{"a": f"eth{one.port}", "b": f"eth{other.port}"} for one, other in cables]
            yield {
                **{"a": self._end(a), "b": self._end(b)},
                "stp": {"a": self._role(a), "b": self._role(b)},
                "lag": {"a": lags[0], "b": lags[1], "members": members} if any(lags) else None,
                "source": "lab",
                "down": all(each in self._lab.unplugged for each in cables),
                "carried": self._carried(cables),
            }

    def neighbours(self) -> Iterator[dict[str, Any]]:
        """Hosts, as the map draws neighbours."""
        for each in sorted(self._lab.network.cables | self._lab.unplugged):
            if each.b.datapath_id >= HOSTS:
                name = self._lab.name(each.b.datapath_id)
                end = self._end(self._logical(each.a))
                yield {
                    **{"datapath_id": end["datapath_id"], "port": end["port"], "port_id": None},
                    **{"chassis_id": name, "lldp": {"system_name": name}},
                    "down": each in self._lab.unplugged,
                    "carried": self._carried([each]),
                }

    def cables(self) -> Iterator[dict[str, Any]]:
        """All cables, with the names of their ends."""
        for each in sorted(self._lab.network.cables | self._lab.unplugged):
            ends = [self._lab.name(end.datapath_id) for end in each]
            ports = [f"eth{end.port}" if end.datapath_id < HOSTS else "" for end in each]
            plugged = each not in self._lab.unplugged
            yield {"a": ends[0], "b": ends[1], "ports": ports, "plugged": plugged}

    def _carried(self, cables: list[Cable]) -> dict[str, Any] | None:
        """The frames on a link: in which directions, and what they are."""
        found = [
            each
            for each in self._lab.network.under_way
            if any({each.source, each.target} == {*own} for own in cables)
        ]
        if not found:
            return None
        said = dict.fromkeys(self._said(each) for each in found)
        forth = [each.source in {own.a for own in cables} for each in found]
        return {"forth": any(forth), "back": not all(forth), "text": ", ".join(said)}

    def _said(self, way: Underway) -> str:
        kind = HEARD.get(way.frame[:6])
        if kind == "bpdu":
            return _bpdu(way.frame)
        if kind:
            return "LACPDU"
        sender, to = (self._hosts.get(mac_at(way.frame, at), "") for at in (6, 0))
        group = way.frame[0] & 1 and IPV4 in (way.frame[12:14], way.frame[16:18])
        return f"{sender or 'query'} → {to or ('group' if group else 'all')}"

    # Ends of cables

    def _logical(self, end: SwitchPort) -> tuple[int, int]:
        bridge = self._lab.network.bridges[end.datapath_id]
        port = logical_port(bridge, end.port)
        return end.datapath_id, end.port if port is None else port.number

    def _port_name(self, end: tuple[int, int]) -> str:
        port = self._lab.network.bridges[end[0]].ports.get(end[1])
        return f"eth{end[1]}" if port is None else port.name

    def _end(self, end: tuple[int, int]) -> dict[str, Any]:
        port = {"name": self._port_name(end), "number": end[1]}
        return {"datapath_id": _id(end[0]), "port": port, "connected": True}

    def _role(self, end: tuple[int, int]) -> dict[str, str] | None:
        tree = self._tree_port(*end)
        state = port_states(self._lab.network.bridges[end[0]]).get(end[1])
        return tree and {"role": tree.role.value, "state": state.value if state else "disabled"}


def _id(number: int) -> str:
    return f"{number:016x}"


def _settings(settings: Settings) -> dict[str, Any]:
    return {
        "priority": settings.priority,
        "tree": settings.tree,
        "snooping": settings.snooping,
        "vlans": dict(settings.vlans),
        "lacp": [*settings.lacp],
    }


def _groups(bridge: Bridge) -> Iterator[dict[str, Any]]:
    for each in bridge.multicast.desired(bridge.params) or ():
        if isinstance(each, SetGroup) and len(each.group) == 4:
            ports = [port.name for port in bridge.ports if port.number in each.ports]
            yield {"group": text(each.group), "vlan": each.vid, "ports": ports}


def _bpdu(frame: bytes) -> str:
    """A BPDU in few words."""
    try:
        read = bpdu.decode(frame)
    except bpdu.BpduError as error:
        return error.reason
    flags = [each for each in ("proposal", "agreement", "topology_change") if getattr(read, each)]
    kind = {"RST": "RST", "CONFIG": "Configuration", "TCN": "TCN"}[read.type.name]
    return ", ".join([f"{kind} BPDU", *(each.replace("_", " ") for each in flags)])
