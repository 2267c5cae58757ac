"""Spanning tree as the API tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ofapp.api.views import Json, port_ref
from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports import LOCAL_PORT, Port
from ofapp.bridge.stp.vectors import format_bridge_id, format_port_id
from ofapp.controller.network import Network


def bridge_json(network: Network, bridge: Bridge) -> Json:
    """Shape: `models_stp.StpBridgeStatus`."""
    status = network.stp_status(bridge)
    ports = {} if status is None else {port.port: port for port in status.ports}
    known = sorted(bridge.ports, key=lambda port: port.number)
    return {
        "datapath_id": f"{bridge.datapath_id:016x}",
        "bridge": bridge.name,
        "enabled": bridge.params.stp is not None,
        **(_BRIDGE_WITHOUT if status is None else _bridge(bridge, status)),
        "parameters": network.running.of(bridge.datapath_id).stp.model_dump(mode="json"),
        "ports": [
            _port(network, bridge, port, ports.get(port.number))
            for port in known
            if port.number != LOCAL_PORT
        ],
    }


def port_json(network: Network, bridge: Bridge, port: Port) -> Json:
    """Shape: `models_stp.StpPortStatus`."""
    status = network.stp_status(bridge)
    ports = () if status is None else status.ports
    return _port(
        network, bridge, port, next((own for own in ports if own.port == port.number), None)
    )


def _bridge(bridge: Bridge, status: stp.BridgeStatus) -> Json:
    times, changed = status.root_times, status.topology_change_port
    since = status.time_since_topology_change
    return {
        "bridge_id": format_bridge_id(status.bridge_id),
        "root_id": format_bridge_id(status.root),
        "root_path_cost": status.root_path_cost,
        "root_port": None if status.root_port is None else port_ref(bridge, status.root_port),
        "root_times": times._asdict(),
        "topology_change": {
            "active": status.topology_change,
            "count": status.topology_change_count,
            "since": None if since is None else round(since, 3),
            "port": None if changed is None else port_ref(bridge, changed),
        },
    }


def _port(network: Network, bridge: Bridge, port: Port, status: stp.PortStatus | None) -> Json:
    settings = network.running.port(bridge, port).stp
    return {
        "number": port.number,
        "name": port.name,
        "up": port.up,
        **(_port_without(bridge, port) if status is None else _port_with(status)),
        "edge": {
            "admin": settings.admin_edge,
            "auto": settings.auto_edge,
            "oper": status is not None and status.oper_edge,
        },
        "point_to_point": {
            "admin": settings.point_to_point.value,
            "oper": port.full_duplex if status is None else status.point_to_point,
        },
        "parameters": settings.model_dump(mode="json"),
    }


def _port_with(status: stp.PortStatus) -> Json:
    vector = status.designated
    return {
        "role": status.role.value,
        "state": status.state.value,
        "reason": status.reason,
        "port_id": format_port_id(status.port_id),
        "path_cost": status.path_cost,
        "designated": {
            "root": format_bridge_id(vector.root),
            "cost": vector.cost,
            "bridge": format_bridge_id(vector.bridge),
            "port": format_port_id(vector.port),
        },
        "information": status.info_is.value,
        "sends": "rstp" if status.send_rstp else "stp",
        "proposing": status.proposing,
        "agreed": status.agreed,
        "guards": [guard.value for guard in status.guards],
        "guard_counts": {guard.value: status.guard_counts.get(guard, 0) for guard in stp.Guard},
        "timers": {name: round(left, 3) for name, left in status.timers.items()},
        "sent": _by_type(status.sent),
        "received": _by_type(status.received),
        "drops": dict(status.drops),
        "forward_transitions": status.forward_transitions,
    }


def _port_without(bridge: Bridge, port: Port) -> Json:
    state = bridge.relay.states.get(port.number, stp.PortState.DISCARDING)
    return {
        "role": "disabled",
        "state": state.value,
        "reason": "no spanning tree on this bridge" if port.up else "link down",
        "port_id": None,
        "path_cost": None,
        "designated": None,
        "information": None,
        "sends": None,
        "proposing": False,
        "agreed": False,
        "guards": [],
        "guard_counts": {guard.value: 0 for guard in stp.Guard},
        "timers": {},
        "sent": _by_type({}),
        "received": _by_type({}),
        "drops": {},
        "forward_transitions": 0,
    }


def _by_type(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts.get(name, 0) for name in ("config", "tcn", "rst")}


_BRIDGE_WITHOUT: dict[str, Any] = dict.fromkeys(
    ("bridge_id", "root_id", "root_path_cost", "root_port", "root_times", "topology_change")
)
