"""Multicast snooping as the API tells it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ofapp.api.mdb import Row, row_text
from ofapp.api.views import Json, port_ref
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import (
    Family,
    MemberInfo,
    QuerierInfo,
    RouterInfo,
    SetUnregistered,
    Snapshot,
    VlanParams,
    text,
)
from ofapp.bridge.multicast_snooping import BridgeSnooping
from ofapp.bridge.ports import Port
from ofapp.controller.network import Network

_QUERIER = {"self": "this bridge asks for members", "other": "another querier asks for members"}


def entries_json(rows: Sequence[Row]) -> list[Json]:
    """Shape: `models_multicast.MdbEntry`, each."""
    return [_entry(row) for row in rows]


def bridge_json(network: Network, bridge: Bridge) -> Json:
    """Shape: `models_multicast.MulticastStatus`."""
    snapshot, snooper = network.multicast_snapshot(bridge), bridge.snooping
    settings = network.running.of(bridge.datapath_id).snooping()
    running = snapshot is not None and snooper is not None
    return {
        "datapath_id": f"{bridge.datapath_id:016x}",
        "bridge": bridge.name,
        "enabled": bridge.params.multicast is not None,
        "entries": {
            "used": 0 if snapshot is None else snapshot.entries,
            "limit": settings.mcast_hash_max,
        },
        "vlans_refused": 0 if snooper is None else snooper.counters["vlans_refused"],
        "topology_changes": {
            "heard": 0 if snooper is None else snooper.changes.heard,
            "delayed": 0 if snooper is None else snooper.changes.delayed,
        },
        "parameters": settings.model_dump(mode="json"),
        "vlans": _vlans(bridge, snooper, snapshot) if running else [],  # type: ignore[arg-type]
        "ports": [
            port_json(network, bridge, port, snapshot)
            for port in sorted(bridge.ports, key=lambda port: port.number)
        ],
    }


def port_json(network: Network, bridge: Bridge, port: Port, snapshot: Snapshot | None) -> Json:
    """Shape: `models_multicast.MulticastPortStatus`."""
    members: Sequence[MemberInfo] = () if snapshot is None else snapshot.members
    counters = {} if snapshot is None else snapshot.counters.get(port.number, {})
    return {
        "number": port.number,
        "name": port.name,
        "groups": sum(own.port == port.number and not own.permanent for own in members),
        "counters": dict(sorted(counters.items())),
        "parameters": network.running.port(bridge, port).multicast.model_dump(mode="json"),
    }


def _entry(row: Row) -> Json:
    group, source = row_text(row)
    member = row.member
    about = {
        "vlan": row.vlan,
        "group": group,
        "source": source,
        "port": {"number": row.number, "name": row.name},
    }
    if member is None:
        mode = "exclude" if source is None else "include"
        return about | {
            "type": "permanent",
            "filter_mode": mode,
            "timer": None,
            "sources": [
                {"address": text(address), "timer": 0.0, "blocked": True} for address in row.exclude
            ],
            "hosts": [],
        }
    return about | {
        "type": "temp",
        "filter_mode": member.mode,
        "timer": member.timer if member.mode == "exclude" else None,
        "sources": [
            {"address": one.address, "timer": one.timer, "blocked": one.blocked}
            for one in member.sources
        ],
        "hosts": list(member.hosts),
    }


def _vlans(bridge: Bridge, snooper: BridgeSnooping, snapshot: Snapshot) -> list[Json]:
    queriers = {(info.vid, info.family): info for info in snapshot.queriers}
    restricted = {
        (wanted.vid, wanted.family.value): wanted.ports
        for wanted in snooper.desired()
        if isinstance(wanted, SetUnregistered)
    }
    groups = snapshot.groups()
    routers: dict[tuple[int, int], list[RouterInfo]] = {}
    for info in snapshot.routers:
        routers.setdefault((info.vid, info.family), []).append(info)
    vlans = []
    for vid in sorted({vid for vid, _ in queriers}):
        told: Json = {"vlan": vid, "mac_groups": groups[vid, None]}
        for family in Family:
            key = vid, family.value
            ports = restricted.get(key)
            told[f"ipv{family.value}"] = {
                **_forwarding(snooper.vlan_params(vid), queriers[key]),
                "unregistered": None if ports is None else _refs(bridge, ports),
                "groups": groups[vid, family],
                "querier": _querier(bridge, queriers[key]),
                "router_ports": _routers(
                    bridge, routers.get(key, []), (ports or frozenset()) - {*queriers[key].proxies}
                ),
            }
        vlans.append(told)
    return vlans


def _forwarding(params: VlanParams, querier: QuerierInfo) -> Json:
    if not params.mcast_snooping:
        return {"forwarding": "flood", "reason": "snooping is off in this VLAN"}
    if querier.state == "none":
        return {
            "forwarding": "flood",
            "reason": "there is no querier, so members would not be known",
        }
    asks = _QUERIER[querier.state]
    if not querier.active:
        return {"forwarding": "flood", "reason": f"{asks} since a moment, answers are awaited"}
    if querier.proxies:
        asks += "; who has no address to ask from gets every report and group"
    if params.mcast_flood_unregistered:
        asks += "; groups that nobody joined flood by mcast_flood_unregistered"
    return {"forwarding": "restrict", "reason": asks}


def _querier(bridge: Bridge, info: QuerierInfo) -> Json:
    return {
        "enabled": info.enabled,
        "state": info.state,
        "address": info.address,
        "version": info.version,
        "port": None if info.port is None else port_ref(bridge, info.port),
        "timer": None if info.state == "none" else info.timer,
        "proxies": _refs(bridge, info.proxies),
    }


def _routers(bridge: Bridge, known: list[RouterInfo], ports: frozenset[int]) -> list[Json]:
    """`ports`: those that get every group; where no router is known, one may have moved there."""
    told = [
        {
            "port": port_ref(bridge, info.port),
            "reasons": ["permanent"] if info.permanent else list(info.kinds),
            "timer": None if info.permanent else info.timer,
            "routers": list(info.routers),
        }
        for info in known
    ]
    for number in sorted(ports - {info.port for info in known}):
        port = bridge.ports.get(number)
        if port is None or bridge.params.port(port.name).multicast.mcast_flood_unregistered:
            continue
        moved = {"reasons": ["topology-change"], "timer": None, "routers": []}
        told.append({"port": port_ref(bridge, number), **moved})
    return told


def _refs(bridge: Bridge, ports: Iterable[int]) -> list[Json]:
    return [port_ref(bridge, number) for number in sorted(ports)]
