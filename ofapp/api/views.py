"""The state of a bridge as the API tells it, and what requests name in it.

Each function reads without yielding, so that what it gives is of one moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from ofapp.api.pagination import EVERY_VLAN, Row
from ofapp.api.problems import ProblemError, field_problem
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb import NO_PORT, Entry
from ofapp.bridge.mac import format_mac
from ofapp.bridge.ports import LOCAL_PORT, Port
from ofapp.controller.network import Network

Json = dict[str, Any]


def find_bridge(network: Network, dpid: str) -> Bridge:
    """The bridge with this datapath id; 404."""
    bridge = network.bridges.get(int(dpid, 16))
    if bridge is None:
        raise field_problem(404, "dpid", f"there is no bridge {dpid}")
    return bridge


def find_port(bridge: Bridge, text: str) -> Port | None:
    """A port by its name, its number or LOCAL.  A name goes first: it is what people type."""
    port = bridge.ports.named(text)
    if port is None and text == "LOCAL":
        port = bridge.ports.get(LOCAL_PORT)
    if port is None and text.isascii() and text.isdigit():
        port = bridge.ports.get(int(text))
    return port


def no_port(bridge: Bridge, text: str, status: int) -> ProblemError:
    """The problem of a port that is not there."""
    return field_problem(status, "port", f"bridge {bridge.name} has no port {text!r}")


def bridge_json(network: Network, bridge: Bridge) -> Json:
    """Shape: `models.Bridge`."""
    session = network.sessions.get(bridge.datapath_id)
    learning, fdb = bridge.learning, bridge.fdb
    counters = dict(learning.counters)
    if session is not None:
        counters |= session.channel.counters
    return {
        "datapath_id": f"{bridge.datapath_id:016x}",
        "name": bridge.name,
        "former_name": bridge.former_name,
        "connected": session is not None,
        "away": network.away.seconds(bridge.datapath_id, time.monotonic()),
        "in_line": session is not None and session.in_line,
        "standby": None if session is None else session.owner,
        "refused": [] if session is None else session.refused,
        "peer": None if session is None else address_text(session.channel.address),
        "ageing_time": bridge.params.ageing_time,
        "limits": {
            "fdb_max_learned": bridge.params.fdb_max_learned,
            "packet_in_rate": bridge.params.packet_in_rate,
            "vlans": [
                {
                    "vlan": vid,
                    "learned": fdb.learned_in(vid),
                    "limit": limit.most,
                    "refused": limit.refused,
                    "dropping": limit.closed,
                }
                for vid, limit in sorted(learning.limits.vlans.items())
            ],
        },
        "fdb": {
            "learned": fdb.learned,
            "static": len(bridge.static_entries.ports),
            "local": len(learning.local),
            "refused": learning.limits.bridge.refused,
            "learned_by_port": {
                port_ref(bridge, number)["name"]: count
                for number, count in sorted(fdb.learned_by_port.items())
            },
        },
        "counters": dict(sorted(counters.items())),
        "drops": {} if session is None else dict(sorted(session.drops.items())),
    }


def address_text(address: Any) -> str:
    """host:port of a peer, as people write it."""
    if not isinstance(address, tuple):
        return str(address)
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def port_json(network: Network, bridge: Bridge, port: Port) -> Json:
    """Shape: `models.Port`."""
    session = network.sessions.get(bridge.datapath_id)
    held_back = {} if session is None else session.held_back
    state = bridge.relay.states.get(port.number)
    limit = bridge.learning.limits.ports.get(port.number)
    return {
        "number": port.number,
        "name": port.name,
        "local": port.number == LOCAL_PORT,
        "mac": format_mac(port.mac),
        "up": port.up,
        "state": "disabled" if state is None else state.value,
        "learned": bridge.fdb.learned_by_port.get(port.number, 0),
        "limit": None if limit is None else limit.most,
        "refused": 0 if limit is None else limit.refused,
        "dropping": limit is not None and limit.closed,
        "packet_in_rate": bridge.sighting_rate(port.number),
        "held_back": {kind: ports.get(port.number, 0) for kind, ports in held_back.items()},
    }


def port_ref(bridge: Bridge, number: int) -> Json:
    """Shape: `models.PortRef`."""
    port = bridge.ports.get(number)
    return {"number": number, "name": port.name if port else str(number)}


def entries_json(bridge: Bridge, rows: Iterable[Row]) -> list[Json]:
    """Shape: `models.Entry`, each."""
    now = time.monotonic()
    ports: dict[int, Json] = {}
    static = bridge.static_entries.ports
    held = bridge.learning.move_guard.held
    entries = []
    for vlan, mac, found in rows:
        number = found.port if isinstance(found, Entry) else found
        port = ports.get(number)
        if port is None:
            port = ports[number] = port_ref(bridge, number)
        if number == NO_PORT:
            port = {"number": None, "name": static.get((vlan, mac), "")}
        flags = []
        if isinstance(found, Entry):
            type_ = "learned" if found.was_learned else found.type.value
            if found.is_sticky:
                flags.append("sticky")
            if (vlan, mac) in held:
                flags.append("held")
            updated: float | None = max(0.0, round(now - found.updated, 3))
            used: float | None = max(0.0, round(now - found.used, 3))
        else:
            type_, updated, used = "local", None, None
        entries.append(
            {
                "mac": format_mac(mac),
                "vlan": None if vlan == EVERY_VLAN else vlan,
                "port": port,
                "type": type_,
                "flags": flags,
                "updated": updated,
                "used": used,
            }
        )
    return entries


def held_json(bridge: Bridge) -> list[Json]:
    """Shape: `models.Held`, each."""
    now = time.monotonic()
    return [
        {
            "mac": format_mac(held.mac),
            "vlan": held.vid,
            "port": port_ref(bridge, held.port),
            "elsewhere": port_ref(bridge, held.elsewhere),
            "reason": held.reason,
            "seconds_left": max(0.0, round(held.until - now, 3)),
            "sightings": held.sightings,
        }
        for held in bridge.learning.move_guard.held.values()
    ]


def bridge_entries_json(found: Sequence[tuple[Bridge, Row]]) -> list[Json]:
    """Shape: `models.BridgeEntry`, each."""
    entries = []
    for bridge, rows in groupby(found, itemgetter(0)):
        about = {"datapath_id": f"{bridge.datapath_id:016x}", "bridge": bridge.name}
        for entry in entries_json(bridge, (row for _, row in rows)):
            entries.append(about | entry)
    return entries
