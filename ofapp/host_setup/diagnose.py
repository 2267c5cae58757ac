"""Diagnosis of a running deployment, with remedies.  Pure.

An error keeps the bridge from doing its work or can lock out; a warning may.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.host_setup import diagnose_controller as controller
from ofapp.host_setup import diagnose_ports as ports
from ofapp.host_setup.diagnose_controller import ControllerReport
from ofapp.host_setup.diagnose_fabric import is_member, link_settings, member_links
from ofapp.host_setup.diagnose_lag import aggregations
from ofapp.host_setup.finding import Finding
from ofapp.host_setup.state import Bridge, Host


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
        findings += controller.controllers(one, report)
        if not is_member(one, report.fabrics):  # its ports have other names in the fabric's bridge
            findings += controller.known(one, report)
            findings += controller.tree(one, report)
            findings += aggregations(host, one, report.lags.get(one.in_use_id or "", ()))
        for port in one.ports:
            findings += ports.port(host, one, port)
        findings += ports.local(host, one)
        findings += ports.mtus(host, one, member_links(one, report.fabrics).keys())
        findings += link_settings(one, report.fabrics)
    findings += _twice(bridges)
    findings += controller.superseded(report, bridge)
    findings += controller.members(report.members)
    findings += controller.problems(report.problems, bridge)
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


def _twice(bridges: list[Bridge]) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for bridge in bridges:
        if bridge.in_use_id:
            owners.setdefault(bridge.in_use_id, []).append(bridge.name)
    for known, names in owners.items():
        if len(names) > 1:
            free = int(known, 16) + 1
            while f"{free:016x}" in owners:
                free += 1
            yield Finding(
                ", ".join(names),
                f"have the same datapath id {known}, and the controller takes only one of them",
                f"ovs-vsctl set bridge {names[-1]} other_config:datapath-id={free:016x}",
            )
