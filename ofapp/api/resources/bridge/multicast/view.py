"""Answers of the API about multicast snooping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ofapp.api.base import PortRef
from ofapp.api.lookup import port_ref
from ofapp.api.resources.bridge.multicast.models import (
    EntryCounts,
    FamilyStatus,
    MulticastPortStatus,
    MulticastStatus,
    MulticastVlanStatus,
    QuerierStatus,
    RouterPort,
    TopologyChanges,
)
from ofapp.bridge.answers import snooping_counts, unregistered, vlan_snooping
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import (
    Family,
    MemberInfo,
    QuerierInfo,
    RouterInfo,
    Snapshot,
    VlanParams,
)
from ofapp.bridge.ports.port import Port
from ofapp.controller.network import Network

_QUERIER = {"self": "this bridge asks for members", "other": "another querier asks for members"}


def bridge_view(network: Network, bridge: Bridge) -> MulticastStatus:
    """Multicast snooping of a bridge, without its ports."""
    snapshot, counts = network.multicast_snapshot(bridge), snooping_counts(bridge)
    settings = network.running.of(bridge.datapath_id).snooping()
    return MulticastStatus(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        enabled=bridge.params.multicast is not None,
        entries=EntryCounts(
            used=0 if snapshot is None else snapshot.entries,
            limit=settings.mcast_hash_max,
        ),
        vlans_refused=counts.vlans_refused,
        topology_changes=TopologyChanges(
            heard=counts.changes_heard,
            delayed=counts.changes_delayed,
        ),
        parameters=settings,
        vlans=[] if snapshot is None else _vlans(bridge, snapshot),
        ports=[],
    )


def port_views(
    network: Network, bridge: Bridge, ports: Iterable[Port]
) -> Iterator[MulticastPortStatus]:
    """State of multicast snooping on ports."""
    snapshot = network.multicast_snapshot(bridge)
    members: Sequence[MemberInfo] = () if snapshot is None else snapshot.members
    groups = Counter(own.port for own in members if not own.permanent)
    for port in ports:
        counters = {} if snapshot is None else snapshot.counters.get(port.number, {})
        yield MulticastPortStatus(
            number=port.number,
            name=port.name,
            groups=groups[port.number],
            counters=dict(sorted(counters.items())),
            parameters=network.running.port(bridge, port).multicast,
        )


def _vlans(bridge: Bridge, snapshot: Snapshot) -> list[MulticastVlanStatus]:
    queriers = {(info.vid, info.family): info for info in snapshot.queriers}
    restricted = {
        (wanted.vid, wanted.family.value): wanted.ports for wanted in unregistered(bridge)
    }
    groups = snapshot.groups()
    routers: dict[tuple[int, int], list[RouterInfo]] = {}
    for info in snapshot.routers:
        routers.setdefault((info.vid, info.family), []).append(info)
    vlans = []
    for vid in sorted({vid for vid, _ in queriers}):
        families = {}
        for family in Family:
            key = vid, family.value
            ports = restricted.get(key)
            open_to = (ports or frozenset()) - {*queriers[key].proxies}
            restricts, why = _forwarding(vlan_snooping(bridge, vid), queriers[key])
            families[family] = FamilyStatus(
                forwarding="restrict" if restricts else "flood",
                reason=why,
                unregistered=None if ports is None else _refs(bridge, ports),
                groups=groups[vid, family],
                querier=_querier(bridge, queriers[key]),
                router_ports=_routers(bridge, routers.get(key, []), open_to),
            )
        vlans.append(
            MulticastVlanStatus(
                vlan=vid,
                ipv4=families[Family.IPV4],
                ipv6=families[Family.IPV6],
                mac_groups=groups[vid, None],
            )
        )
    return vlans


def _forwarding(params: VlanParams | None, querier: QuerierInfo) -> tuple[bool, str]:
    """Whether groups go only to ports with members, and why."""
    if params is None or not params.mcast_snooping:
        return False, "snooping is off in this VLAN"
    if querier.state == "none":
        return False, "there is no querier, so members would not be known"
    asks = _QUERIER[querier.state]
    if not querier.active:
        return False, f"{asks} since a moment, answers are awaited"
    if querier.proxies:
        asks += "; ports of queriers without an address get every report and group"
    if params.mcast_flood_unregistered:
        asks += "; unregistered groups flood by mcast_flood_unregistered"
    return True, asks


def _querier(bridge: Bridge, info: QuerierInfo) -> QuerierStatus:
    return QuerierStatus(
        enabled=info.enabled,
        state=info.state,
        address=info.address,
        version=info.version,
        port=None if info.port is None else port_ref(bridge, info.port),
        timer=None if info.state == "none" else info.timer,
        proxies=_refs(bridge, info.proxies),
    )


def _routers(bridge: Bridge, known: list[RouterInfo], ports: frozenset[int]) -> list[RouterPort]:
    """Router ports.  ports: those that get every group; a router may have moved to one of them."""
    routers = [
        RouterPort(
            port=port_ref(bridge, info.port),
            reasons=["permanent"] if info.permanent else list[Any](info.kinds),
            timer=None if info.permanent else info.timer,
            routers=list(info.routers),
        )
        for info in known
    ]
    for number in sorted(ports - {info.port for info in known}):
        port = bridge.ports.get(number)
        if port is None or bridge.params.port(port.name).multicast.mcast_flood_unregistered:
            continue
        routers.append(
            RouterPort(
                port=port_ref(bridge, number), reasons=["topology-change"], timer=None, routers=[]
            )
        )
    return routers


def _refs(bridge: Bridge, ports: Iterable[int]) -> list[PortRef]:
    return [port_ref(bridge, number) for number in sorted(ports)]
