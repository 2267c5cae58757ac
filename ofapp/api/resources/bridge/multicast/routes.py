"""Routes of multicast snooping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flask import Response

from ofapp.api.base import BridgePath, NoQuery, PortPath, PortRef, filled
from ofapp.api.changes import make_change
from ofapp.api.lookup import bridge_and_port, by_number, find_bridge, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, UNSAVED, documented, field_problem, resource
from ofapp.api.resources.bridge.multicast.models import (
    EntryCounts,
    FamilyStatus,
    MulticastBridgeChange,
    MulticastPortChange,
    MulticastPortStatus,
    MulticastPortVlanChange,
    MulticastPortVlanPath,
    MulticastStatus,
    MulticastVlanChange,
    MulticastVlanPath,
    MulticastVlanStatus,
    QuerierStatus,
    RouterPort,
    TopologyChanges,
)
from ofapp.api.responses import answer, long
from ofapp.api.roles import operator, viewer
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
from ofapp.bridge.queries import snooping_counts, unregistered, vlan_snooping
from ofapp.config.multicast import (
    MulticastBridge,
    MulticastPort,
    MulticastPortVlan,
    MulticastVlan,
)
from ofapp.controller.configuration.changes.settings import MULTICAST
from ofapp.controller.network import Network

TAG = Tag(name="multicast", description="Multicast snooping: IGMP and MLD.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("multicast", TAG, "/v1/bridges/<dpid>/multicast")

    def done(bridge: Bridge) -> Response:
        views = port_views(network, bridge, by_number(bridge))
        return long(bridge_view(network, bridge), views)

    def set_bridge(
        path: BridgePath, values: Callable[[MulticastBridge], Mapping[str, Any]]
    ) -> Response:
        bridge = find_bridge(network, path.dpid)
        snooping = network.running.of(bridge.datapath_id).snooping()
        make_change(network.changes.settings.change, bridge, MULTICAST, values(snooping))
        return done(bridge)

    def set_port(path: PortPath, values: Callable[[MulticastPort], Mapping[str, Any]]) -> Response:
        bridge, port = bridge_and_port(network, path)
        settings = network.running.port(bridge, port).multicast
        make_change(network.changes.settings.change_port, bridge, port, values(settings), MULTICAST)
        return answer(next(port_views(network, bridge, [port])))

    @api.get("", responses={200: MulticastStatus, **documented(404, 409)})
    @viewer
    def status(path: BridgePath, query: NoQuery) -> Response:
        """Multicast snooping of a bridge, of its VLANs and of its ports."""
        return done(find_bridge(network, path.dpid))

    @api.patch("", responses={200: MulticastStatus, **CHANGE})
    @operator
    def change(
        path: BridgePath,
        query: NoQuery,
        body: MulticastBridgeChange,
    ) -> Response:
        """Set parameters of a bridge, or turn snooping on or off.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  All given values take effect together.
        409: the values contradict each other, those that stay, or those of a VLAN.
        """
        parts = {part.vlan: part for part in body.vlans or ()}
        return set_bridge(path, lambda snooping: body.values() | {"vlans": _vlans(snooping, parts)})

    @api.patch("/vlans/<vlan>", responses={200: MulticastStatus, **CHANGE})
    @operator
    def change_vlan(
        path: MulticastVlanPath,
        query: NoQuery,
        body: MulticastVlanChange,
    ) -> Response:
        """Set parameters of a VLAN that differ from those of its bridge.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: the values contradict each other
        or those that stay.
        """
        return set_bridge(path, lambda snooping: {"vlans": _vlans(snooping, {path.vlan: body})})

    @api.delete(
        "/vlans/<vlan>", responses={200: MulticastStatus, **documented(404, 409), **UNSAVED}
    )
    @operator
    def reset_vlan(path: MulticastVlanPath, query: NoQuery) -> Response:
        """Reset a VLAN to the parameters of its bridge."""

        def values(snooping: MulticastBridge) -> dict[str, Any]:
            if path.vlan not in snooping.vlans:
                raise field_problem(404, "vlan", f"VLAN {path.vlan} has no separate parameters")
            return {
                "vlans": {vid: vlan for vid, vlan in snooping.vlans.items() if vid != path.vlan}
            }

        return set_bridge(path, values)

    @api.patch("/ports/<port>", responses={200: MulticastPortStatus, **CHANGE})
    @operator
    def change_port(
        path: PortPath,
        query: NoQuery,
        body: MulticastPortChange,
    ) -> Response:
        """Set parameters of a port.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.
        """
        return set_port(path, lambda _settings: body.values())

    @api.patch("/ports/<port>/vlans/<vlan>", responses={200: MulticastPortStatus, **CHANGE})
    @operator
    def change_port_vlan(
        path: MulticastPortVlanPath,
        query: NoQuery,
        body: MulticastPortVlanChange,
    ) -> Response:
        """Set parameters of a port in one VLAN, which override the port's; null: the port's apply.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.
        """

        def values(settings: MulticastPort) -> dict[str, Any]:
            former = settings.vlans.get(path.vlan, MulticastPortVlan())
            new = former.model_copy(update=body.values())
            return {"vlans": {**settings.vlans, path.vlan: new}}

        return set_port(path, values)

    return api


def _vlans(
    settings: MulticastBridge, changes: Mapping[int, MulticastVlanChange]
) -> dict[int, MulticastVlan]:
    """The VLANs with separate parameters, after the changes."""
    vlans = dict(settings.vlans)
    for vid, change in changes.items():
        former = settings.vlan(vid).model_dump(exclude_unset=True)
        vlans[vid] = MulticastVlan(**former | change.values())
    return vlans


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
        vlans=[] if snapshot is None else _vlan_views(bridge, snapshot),
        ports=[],
    )


def port_views(
    network: Network, bridge: Bridge, ports: Iterable[Port]
) -> Iterator[MulticastPortStatus]:
    """State of multicast snooping on ports."""
    snapshot = network.multicast_snapshot(bridge)
    members: Sequence[MemberInfo] = () if snapshot is None else snapshot.members
    groups = Counter(member.port for member in members if not member.permanent)
    for port in ports:
        counters = {} if snapshot is None else snapshot.counters.get(port.number, {})
        yield MulticastPortStatus(
            number=port.number,
            name=port.name,
            groups=groups[port.number],
            counters=dict(sorted(counters.items())),
            parameters=network.running.port(bridge, port).multicast,
        )


def _vlan_views(bridge: Bridge, snapshot: Snapshot) -> list[MulticastVlanStatus]:
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
    return filled(
        QuerierStatus,
        info,
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
