"""Diagnosis of a running deployment, with remedies.  Pure.

An error keeps the bridge from doing its work or can lock out; a warning may.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ofapp.host_setup.diagnose_fabric import (
    is_connected_member,
    is_member,
    link_settings,
    member_links,
)
from ofapp.host_setup.diagnose_lag import aggregations
from ofapp.host_setup.finding import Finding
from ofapp.host_setup.model import LOCAL_CONTROLLER, endpoint
from ofapp.host_setup.state import Bridge, BridgePort, Host, Link
from ofapp.host_setup.wanted import USERSPACE_UPLINK, movable

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
    invalid: Sequence[Json] = ()  # keys of a cluster in etcd that are set aside
    problems: Sequence[Json] = ()  # as /v1/problems has them
    listens: Sequence[str] = ()  # where it listens for switches, as ovs-vsctl names controllers


def diagnose(
    host: Host, report: ControllerReport, bridge: str | None = None
) -> tuple[Finding, ...]:
    """Everything that is found, the errors first; of one bridge, or of all."""
    findings: list[Finding] = []
    switch = host.switch
    if switch.problem is not None:
        fix = "systemctl start openvswitch-switch, or say with --db where its database is"
        findings.append(Finding("Open vSwitch", f"does not run: {switch.problem}", fix))
    bridges = [one for one in switch.bridges if bridge in {None, one.name}]
    if not bridges and switch.problem is None:
        what = "has no bridge" if bridge is None else f"has no bridge {bridge}"
        findings.append(Finding("Open vSwitch", what, "ofapp deploy apply makes one"))
    if switch.vlan_limit != 1:
        findings.append(_vlan_limit(switch.vlan_limit))
    for one in bridges:
        findings += _settings(one)
        if one.in_use_id is None:
            findings.append(_not_created(host, one))
            continue
        findings += _controllers(one, report)
        if not is_member(one, report.fabrics):  # its ports have other names in the fabric's bridge
            findings += _known(one, report)
            findings += _tree(one, report)
            findings += aggregations(host, one, report.lags.get(one.in_use_id or "", ()))
        for port in one.ports:
            findings += _port(host, one, port)
        findings += _local(host, one)
        findings += _mtus(host, one, member_links(one, report.fabrics).keys())
        findings += link_settings(one, report.fabrics)
    findings += _twice(bridges)
    findings += _superseded(report, bridge)
    findings += _members(report.members)
    for key in report.invalid:
        problem = f"{key['key']} is set aside: {key['why']}"
        findings.append(Finding("etcd", problem, f"etcdctl del '{key['key']}'", fatal=False))
    findings += _problems(report.problems, bridge)
    if report.problem is not None:
        fix = "start ofapp-manager, or say with --api where it is"
        findings.append(Finding("controller", report.problem, fix))
    return tuple(sorted(findings, key=lambda finding: not finding.fatal))


def _vlan_limit(limit: int) -> Finding:
    return Finding(
        "Open vSwitch",
        f"reads two VLAN tags of a frame, not one (other_config:vlan-limit={limit}): a frame with"
        " two tags is dropped where an access list looks at its type, and multicast behind two"
        " tags reaches the group's members only",
        "if neither OVN, which sets 0 again, nor 802.1ad by Open vSwitch itself needs it:"
        " ovs-vsctl set Open_vSwitch . other_config:vlan-limit=1",
        fatal=False,
    )


def _problems(problems: Sequence[Json], bridge: str | None) -> Iterator[Finding]:
    """Find what the controller knows to be wrong and no person has acknowledged."""
    for one in problems:
        if one["severity"] == "info" or one["acknowledged"] or bridge not in {None, one["bridge"]}:
            continue
        where = one["port"] or one["bridge"] or "controller"
        fix = f"{one['remedy']} ({one['advice']})" if one["remedy"] else one["advice"]
        yield Finding(where, one["message"], fix, fatal=one["severity"] == "error")


def _members(members: Sequence[Json]) -> Iterator[Finding]:
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


def _not_created(host: Host, bridge: Bridge) -> Finding:
    """A bridge that is in the database only: it has no datapath id, and nothing else works."""
    name = bridge.name
    if bridge.datapath == "system" and not host.switch.kernel_module:
        return Finding(
            name,
            "Open vSwitch did not create it: datapath type system needs the kernel module"
            " openvswitch, which is not loaded",
            f"modprobe openvswitch; where the kernel has no such module:"
            f" ovs-vsctl set bridge {name} datapath_type=netdev",
        )
    return Finding(
        name,
        f"Open vSwitch did not create it on datapath type {bridge.datapath}",
        "see why in the log of ovs-vswitchd (/var/log/openvswitch/ovs-vswitchd.log)",
    )


def _settings(bridge: Bridge) -> Iterator[Finding]:
    name = bridge.name
    if bridge.fail_mode != "secure":
        yield Finding(
            name,
            "fail_mode is standalone: without the controller Open vSwitch bridges by itself, and"
            " can loop",
            f"ovs-vsctl set-fail-mode {name} secure",
        )
    if bridge.protocols and "OpenFlow13" not in bridge.protocols:
        yield Finding(
            name,
            f"OpenFlow 1.3 is not among its protocols ({', '.join(bridge.protocols)})",
            f"ovs-vsctl set bridge {name} protocols=OpenFlow13",
        )
    for on, column in ((bridge.stp, "stp_enable"), (bridge.rstp, "rstp_enable")):
        if on:
            yield Finding(
                name,
                f"{column} is on: Open vSwitch swallows BPDUs before the controller sees them",
                f"ovs-vsctl set bridge {name} {column}=false",
            )


def _controllers(bridge: Bridge, report: ControllerReport) -> Iterator[Finding]:
    name = bridge.name
    if not bridge.controllers:
        yield Finding(
            name, "has no controller", f"ovs-vsctl set-controller {name} {LOCAL_CONTROLLER}"
        )
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
    listening = [_reached(target, report.url) for target in report.listens]
    if not listening:
        return "start the controller there, or see why it refuses in its log"
    if {*map(endpoint, targets)}.isdisjoint(map(endpoint, listening)):
        return f"ovs-vsctl set-controller {name} {listening[0]}"
    return "see in the controller's log why it refuses the switch"


def _reached(target: str, api: str) -> str:
    """Where a switch reaches a controller that may listen on all addresses of its machine."""
    kind, _, place = target.partition(":")
    address, _, port = place.rpartition(":")
    if address not in ("0.0.0.0", "[::]"):
        return target
    host = urlsplit(api).hostname or "127.0.0.1"
    return f"{kind}:{f'[{host}]' if ':' in host else host}:{port}"


def _known(bridge: Bridge, report: ControllerReport) -> Iterator[Finding]:
    """Compare the data of Open vSwitch and of the controller about the same bridge."""
    if report.problem is not None or not bridge.controllers:
        return
    known = report.bridges.get(bridge.in_use_id or "")
    if known is None:
        yield Finding(
            bridge.name,
            f"the controller at {report.url} does not know it (datapath id {bridge.in_use_id})",
            "is that the controller it is connected to?  Its log says which switches it refuses",
        )


def _tree(bridge: Bridge, report: ControllerReport) -> Iterator[Finding]:
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


def _port(host: Host, bridge: Bridge, port: BridgePort) -> Iterator[Finding]:
    name = port.name
    if port.error or port.number == -1:
        yield Finding(
            name,
            f"Open vSwitch cannot use it: {port.error or 'no OpenFlow port'}",
            f"mend that, or ovs-vsctl del-port {bridge.name} {name}",
        )
        return
    link = host.link(name)
    if link is None or port.type not in {"", "afxdp"}:
        return
    if not link.state.up:
        yield Finding(name, "is down", f"ip link set {name} up")
    elif not link.carrier and link.kind != "tun":
        yield Finding(name, "has no carrier", "see to its cable", fatal=False)
    elif not link.promiscuous:
        yield Finding(
            name,
            "is not promiscuous: frames for other hosts do not reach the bridge",
            f"ip link set {name} promisc on",
        )
    if link.kind != "tun" or movable(link.state):
        yield from _addresses(bridge, link)
    if bridge.datapath == "netdev":
        yield from _userspace(host, bridge, link)


def _addresses(bridge: Bridge, link: Link) -> Iterator[Finding]:
    for address in movable(link.state):
        yield Finding(
            link.name,
            f"has the address {address}, which belongs on {bridge.name}",
            "ofapp deploy apply moves it"
            if bridge.ours
            else f"ip addr del {address} dev {link.name}; ip addr add {address} dev {bridge.name}",
        )


def _userspace(host: Host, bridge: Bridge, link: Link) -> Iterator[Finding]:
    """Find problems of userspace datapaths: the kernel still processes the same frames."""
    name = link.name
    if link.state.offloads:
        off = {"rx-gro": "gro", "rx-lro": "lro", "rx-gro-hw": "rx-gro-hw"}
        words = " ".join(f"{off[feature]} off" for feature in link.state.offloads)
        yield Finding(
            name,
            "joins received frames, and the userspace datapath drops what is longer than the MTU",
            f"ethtool -K {name} {words}",
            fatal=False,
        )
    other = next((each for each in host.links if each.index == link.other_end), None)
    if link.kind == "veth" and other is not None and other.checksums_later:
        yield Finding(
            other.name,
            f"leaves checksums to hardware, and is a veth: its frames reach {name} without one, and"
            " the userspace datapath does not fill it in",
            f"ethtool -K {other.name} tx off",
            fatal=False,
        )
    settings = dict(link.state.settings)
    wrong = {
        key: value
        for key, value in USERSPACE_UPLINK.items()
        if key in settings and not settings[key] >= value
    }
    if wrong and any(movable(other.state) for other in host.links if not other.loopback):
        words = " ".join(
            f"net.{key.partition('/')[0]}.conf.{name}.{key.partition('/')[2]}={value}"
            for key, value in wrong.items()
        )
        yield Finding(
            name,
            "the host's own stack sees the frames of this port as well, and answers ARP, pings and"
            f" TCP beside {bridge.name}",
            f"sysctl -w {words}",
            fatal=False,
        )


def _local(host: Host, bridge: Bridge) -> Iterator[Finding]:
    link = host.link(bridge.name)
    if link is not None and not link.state.up and bridge.ours:
        yield Finding(
            bridge.name,
            "its LOCAL port is down, and with it this host",
            f"ofapp deploy recover, or ip link set {bridge.name} up",
        )


def _mtus(host: Host, bridge: Bridge, links: Set[str]) -> Iterator[Finding]:
    """Compare MTUs; links: link ports of a fabric, whose MTU is larger."""
    mtus = {port.name: port.mtu for port in bridge.ports if port.mtu and port.name not in links}
    local = host.link(bridge.name)
    if local is not None and local.state.mtu:
        mtus[bridge.name] = local.state.mtu
    if len(set(mtus.values())) > 1:
        sizes = ", ".join(f"{name} {mtu}" for name, mtu in mtus.items())
        yield Finding(
            bridge.name,
            f"MTUs differ ({sizes}): a frame that is too long for a port is dropped without a word",
            f"ovs-vsctl set interface NAME mtu_request={min(mtus.values())}",
            fatal=False,
        )


def _twice(bridges: list[Bridge]) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for bridge in bridges:
        if bridge.in_use_id:
            owners.setdefault(bridge.in_use_id, []).append(bridge.name)
    for known, names in owners.items():
        if len(names) > 1:
            yield Finding(
                ", ".join(names),
                f"have the same datapath id {known}, and the controller takes only one of them",
                f"ovs-vsctl set bridge {names[-1]} other_config:datapath-id=<16 other digits>",
            )


def _superseded(report: ControllerReport, bridge: str | None) -> Iterator[Finding]:
    """Bridges of the controller that were deleted and recreated, as it seems."""
    for known, one in report.bridges.items():
        former = one.get("former_name")
        if former is not None and bridge in {None, former}:
            yield Finding(
                former,
                f"was the name of another bridge too, {known}, whose switch is away",
                f"if that one was deleted for good: ofapp bridge forget {known}",
                fatal=False,
            )


def _is_local(target: str) -> bool:
    where = endpoint(target)
    return where is None or ipaddress.ip_address(where[0]).is_loopback
