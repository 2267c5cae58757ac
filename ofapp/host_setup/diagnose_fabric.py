"""Diagnosis of fabrics: the settings of links on this host.  Pure.

What the controller tells is what `/v1/fabrics/{name}` answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ofapp.host_setup.finding import Finding
from ofapp.host_setup.state import Bridge, BridgePort

Json = Mapping[str, Any]


def member_links(bridge: Bridge, fabrics: Sequence[Json]) -> Mapping[str, Json]:
    """The fabric of each link port of a bridge that is a member, by the port's name."""
    links = {}
    for fabric, member in _memberships(bridge, fabrics):
        ends = {link[end] for link in fabric["links"] for end in ("one", "other")}
        for port in bridge.ports:
            if f"{member['name']}/{port.name}" in ends:
                links[port.name] = fabric
    return links


def is_member(bridge: Bridge, fabrics: Sequence[Json]) -> bool:
    """Whether a bridge is a member of a fabric, and so none of the controller's bridges."""
    return any(_memberships(bridge, fabrics))


def is_connected_member(bridge: Bridge, fabrics: Sequence[Json]) -> bool:
    """Whether the controller has the bridge as a member that is connected."""
    return any(member["connected"] for _, member in _memberships(bridge, fabrics))


def link_settings(bridge: Bridge, fabrics: Sequence[Json]) -> Iterator[Finding]:
    """Findings of the link ports of a bridge on this host."""
    links = member_links(bridge, fabrics)
    for port in bridge.ports:
        if port.name in links and port.type != "patch":
            yield from _settings(port, links[port.name])


def _settings(port: BridgePort, fabric: Json) -> Iterator[Finding]:
    name, wanted = port.name, fabric["link_mtu"]
    if port.mtu is not None and port.mtu < wanted:
        yield Finding(
            name,
            f"its MTU of {port.mtu} is too small for a link of fabric {fabric['name']}: frames of"
            f" {fabric['mtu']} octets would be lost, so it carries none",
            f"ovs-vsctl set interface {name} mtu_request={wanted}, at both ends; or ofapp fabric"
            " apply",
        )
    if port.bfd is False:
        yield Finding(
            name,
            f"is a link of fabric {fabric['name']} without BFD: if it loses frames and keeps its"
            " carrier, nothing notices soon",
            f"ovs-vsctl set interface {name} bfd:enable=true bfd:min_tx=50 bfd:min_rx=50, at both"
            " ends; or ofapp fabric apply",
            fatal=False,
        )


def _memberships(bridge: Bridge, fabrics: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    for fabric in fabrics:
        for member in fabric["members"]:
            if bridge.in_use_id is not None and member["datapath_id"] == bridge.in_use_id:
                yield fabric, member
