"""Diagnosis of what the controller reports, beside the data of Open vSwitch.  Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ofapp.host_setup.diagnose_fabric import is_connected_member
from ofapp.host_setup.finding import Finding
from ofapp.host_setup.model import LOCAL_CONTROLLER, endpoint
from ofapp.host_setup.state import Bridge

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ControllerReport:
    """Data of the controller's REST API; `problem` if it does not answer."""

    url: str
    problem: str | None = None
    bridges: Mapping[str, Json] = field(default_factory=dict)  # by datapath id
    trees: Mapping[str, Json] = field(default_factory=dict)  # /stp of those
    lags: Mapping[str, Sequence[Json]] = field(default_factory=dict)  # /lags of those
    fabrics: Sequence[Json] = ()  # each as /v1/fabrics/{name} has it
    members: Sequence[Json] = ()  # of a cluster, as /v1/config has them
    problems: Sequence[Json] = ()  # as /v1/problems has them
    listens: Sequence[str] = ()  # where it listens for switches, as ovs-vsctl names controllers


def controllers(bridge: Bridge, report: ControllerReport) -> Iterator[Finding]:
    """Compare the controllers of a bridge with where the controller listens."""
    name = bridge.name
    if not bridge.controllers:
        target = next(iter(_listening(report)), LOCAL_CONTROLLER)
        yield Finding(name, "has no controller", f"ovs-vsctl set-controller {name} {target}")
        return
    # Open vSwitch writes it into its database only every five seconds.
    known = report.bridges.get(bridge.in_use_id or "", {}).get("connected")
    known = known or is_connected_member(bridge, report.fabrics)
    if not known and not any(controller.connected for controller in bridge.controllers):
        targets = [controller.target for controller in bridge.controllers]
        for controller in bridge.controllers:
            reason = controller.error or "no answer"
            problem = f"is not connected to {controller.target}: {reason}"
            yield Finding(name, problem, _way_back(name, targets, report))
    local = all(map(_is_local, (controller.target for controller in bridge.controllers)))
    hidden = not all(controller.out_of_band for controller in bridge.controllers)
    if local and hidden and not bridge.disable_in_band:
        yield Finding(
            name,
            "in-band control is on though the controller is on this host: hidden flows pass by all"
            " that the controller sets",
            f"ovs-vsctl set bridge {name} other_config:disable-in-band=true",
            fatal=False,
        )


def _way_back(name: str, targets: Sequence[str], report: ControllerReport) -> str:
    """The remedy for a bridge that is not connected to any of its controllers."""
    listening = _listening(report)
    if not listening:
        return "start the controller there, or see why it refuses in its log"
    if {*map(endpoint, targets)}.isdisjoint(map(endpoint, listening)):
        return f"ovs-vsctl set-controller {name} {listening[0]}"
    return "see in the controller's log why it refuses the switch"


def _listening(report: ControllerReport) -> list[str]:
    """Where switches reach the controller."""
    return [_reached(target, report.url) for target in report.listens]


def _reached(target: str, api: str) -> str:
    """Where a switch reaches a controller that may listen on all addresses of its machine."""
    kind, _, place = target.partition(":")
    address, _, port = place.rpartition(":")
    if address not in ("0.0.0.0", "[::]"):
        return target
    host = urlsplit(api).hostname or "127.0.0.1"
    return f"{kind}:{f'[{host}]' if ':' in host else host}:{port}"


def _is_local(target: str) -> bool:
    where = endpoint(target)
    return where is None or ipaddress.ip_address(where[0]).is_loopback


def known(bridge: Bridge, report: ControllerReport) -> Iterator[Finding]:
    """Compare the data of Open vSwitch and of the controller about the same bridge."""
    if report.problem is not None or not bridge.controllers:
        return
    known = report.bridges.get(bridge.in_use_id or "")
    if known is None:
        where = f"at {report.url}" if ":" in report.url else "on this host"  # `local`
        yield Finding(
            bridge.name,
            f"the controller {where} does not know it (datapath id {bridge.in_use_id})",
            "is that the controller it is connected to?  Its log says which switches it refuses",
        )


def tree(bridge: Bridge, report: ControllerReport) -> Iterator[Finding]:
    """Find uplinks that spanning tree keeps closed, and no spare link explains it."""
    ports = report.trees.get(bridge.in_use_id or "", {}).get("ports", ())
    uplinks = {port.name for port in bridge.ports if port.type in {"", "afxdp", "dpdk"}}
    forwarding = [port for port in ports if port["state"] == "forwarding"]
    uplink_forwards = any(port["name"] in uplinks for port in forwarding)
    roles = {port["role"] for port in forwarding}
    for port in ports:
        # A second way to where the root port leads, or to a network that the bridge leads to.
        spare = {"alternate": "root", "backup": "designated"}.get(port["role"]) in roles
        if port["name"] not in uplinks or not port["up"] or port["state"] == "forwarding" or spare:
            continue
        yield Finding(
            port["name"],
            f"spanning tree has it {port['state']} ({port['role']}: {port['reason']})",
            f"wait until it has converged, and see: ofapp stp show {bridge.name}",
            fatal=not uplink_forwards,
        )


def superseded(report: ControllerReport, bridge: str | None) -> Iterator[Finding]:
    """Bridges of the controller that were deleted and recreated, as it seems."""
    for known, one in report.bridges.items():
        former = one.get("former_name")
        if former is not None and bridge in {None, former}:
            yield Finding(
                former,
                f"was the name of another bridge too, {known}, whose switch is disconnected",
                f"if that one was deleted for good: ofapp bridge forget {known}",
                fatal=False,
            )


def members(members: Sequence[Json]) -> Iterator[Finding]:
    """Find members of a cluster that run different configurations."""
    last = max((one["revision"] or 0 for one in members), default=0)
    for one in members:
        where = f"member {one['name']}"
        if one["error"]:
            problem = f"cannot do as revision {last} of the configuration says: {one['error']}"
            yield Finding(where, problem, "upgrade it, or push what all members can do")
        elif (one["revision"] or 0) < last:
            problem = f"does not do as revision {last} of the configuration says yet"
            yield Finding(where, problem, "see whether it reaches etcd: ofapp cluster show")
        elif one["differs"]:
            problem = "its machine's file says something else than what was pushed, which holds"
            fix = "ofapp config push that file, or remove it"
            yield Finding(where, problem, fix, fatal=False)


def problems(problems: Sequence[Json], bridge: str | None) -> Iterator[Finding]:
    """Find what the controller knows to be wrong and no person has acknowledged."""
    for one in problems:
        if one["severity"] == "info" or one["acknowledged"] or bridge not in {None, one["bridge"]}:
            continue
        where = one["port"] or one["bridge"] or "controller"
        fix = f"{one['remedy']} ({one['advice']})" if one["remedy"] else one["advice"]
        yield Finding(where, one["message"], fix, fatal=one["severity"] == "error")
