"""The reasons, in the order in which they are tried."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.diagnosis.bindings import unbound
from ofapp.bridge.diagnosis.reason import Reason, vlan
from ofapp.bridge.diagnosis.subject import Subject
from ofapp.bridge.mac import format_mac
from ofapp.bridge.port_access.port import Admission
from ofapp.bridge.ports.names import base_name
from ofapp.bridge.ports.port import Port
from ofapp.bridge.queries import fdb_tables, held_addresses, port_limit, vlan_limits
from ofapp.bridge.stp import Guard, PortState

_REFUSED = "see `ofapp problems` and the log of the RADIUS server"
_MANY = 64
"""A port with more VLANs is a trunk, on which a guest chooses its VLAN."""

_GUARDS = {
    Guard.BPDU_GUARD: "BPDU guard has closed port {port}: BPDUs came from it, as from a bridge",
    Guard.ROOT_GUARD: "root guard has closed port {port}: a better root bridge is behind it",
    Guard.LOOP_GUARD: "loop guard has closed port {port}: the bridge behind it went silent",
    Guard.SELF_LOOP: "port {port} is closed: the bridge's own BPDUs come back there, so it is"
    " looped",
}


class AclDrops(NamedTuple):
    """Frames that an access list has dropped, on all its ports, and the rule that dropped most."""

    frames: int
    rule: str


def diagnose(
    bridge: Bridge, subject: Subject, drops: Mapping[str, AclDrops], now: float
) -> Reason | None:
    """The first reason why a host has no network; None if the bridge hinders nothing.

    drops: frames that access lists drop, by name.
    """
    port = bridge.ports.named(subject.port)
    if port is None:
        add = f", or add the port: ovs-vsctl add-port {bridge.name} {subject.port}"
        if base_name(subject.port) is not None:
            add = ""  # Open vSwitch has another name for it
        return Reason(f"port {subject.port} is not on the bridge", f"start the guest{add}")
    tried = (
        *(_closed(bridge, port, now), _not_admitted(bridge, port, subject)),
        _alone(bridge, port, subject),
        *(_not_learned(bridge, port, subject, now), unbound(bridge, port, subject, now)),
        *(_dropped(bridge, port, drops), _silent(bridge, port, subject)),
    )
    return next((reason for reasons in tried for reason in reasons), None)


def _closed(bridge: Bridge, port: Port, now: float) -> Iterator[Reason]:
    """Whether the port forwards nothing: configuration, link, spanning tree."""
    name = port.name
    if bridge.port_policies.policy(port.number).shutdown:
        fix = f"ofapp port set {bridge.name} {name} shutdown=false"
        yield Reason(f"port {name} is shut down by its configuration", fix)
    if not bridge.port_policies.takes_part(port.number):
        yield Reason(
            f"port {name} is a monitor port: it gets copies of frames and forwards none",
            "take the port out of `mirrors` and out of `monitor` in the configuration file",
        )
    if not port.up:
        yield Reason(
            f"port {name} has no link: the guest is off, or its interface is down",
            f"start the guest, and set the interface up: ip link set {name} up",
        )
    for guard in bridge.stp.guarded().get(port.number, ()):
        yield Reason(
            _GUARDS[guard].format(port=name),
            f"end what caused it, then: ofapp stp recover {bridge.name} {name}",
        )
    if port.one_way and (link := bridge.one_way.held(port.number)) is not None:
        yield Reason(
            f"port {name} is closed: its link to {link.neighbour} passes frames in one direction"
            " alone",
            f"replace the cable or transceivers, or: ofapp lldp free {bridge.name} {name}",
        )
    if (held := bridge.loop_protect.held(port.number)) is not None:
        other = bridge.ports.get(held.other)
        to = "itself" if other in (None, port) else f"port {other.name}"
        yield Reason(
            f"port {name} is held by loop protection: there is a loop from it to {to}",
            f"end the loop, then: ofapp loop-protect free {bridge.name} {name}",
        )
    state = bridge.desired_port(port.number).state
    if port.up and state is not PortState.FORWARDING:
        status = bridge.stp.status(now, [port.number])
        why = "" if status is None or not status.ports else f" ({status.ports[0].reason})"
        yield Reason(
            f"spanning tree has port {name} {state.value if state else 'closed'}{why}",
            f"ofapp stp show {bridge.name}; a port with guests alone opens sooner with"
            " `trust: guest` or `stp: {admin_edge: true}`",
        )


def _not_admitted(bridge: Bridge, port: Port, subject: Subject) -> Iterator[Reason]:
    """Whether port access control drops the host's frames."""
    for host in bridge.port_access.closed_out():
        if host.port == port.name and subject.mac in (None, host.mac):
            see = "start a supplicant on it" if host.waits else _REFUSED
            again = f"let it try again: ofapp auth clear {bridge.name} {port.name}"
            yield Reason(host.why, f"{see}, then {again}")
    admission = bridge.desired_port(port.number).wanted("port_access")
    if subject.mac is None and admission == Admission():
        yield Reason(
            f"port {port.name} admits no host that is not authenticated, and none has tried",
            "start a supplicant on the host, or see the port's `authentication`: ofapp auth show"
            f" {bridge.name} --statistics",
        )


def _alone(bridge: Bridge, port: Port, subject: Subject) -> Iterator[Reason]:
    """Whether no other port carries the host's VLAN."""
    vlans = bridge.port_policies.vlans(port.number)
    if subject.vid is not None and not vlans.has(subject.vid):
        yield Reason(
            f"{_host(subject)} was heard in {vlan(subject.vid)}, which port {port.name} is not in",
            f"ofapp port show {bridge.name}; set the port's `vlan` to that of the guest",
        )
    wanted = {subject.vid} if subject.vid else vlans.vids if vlans.vids is not None else {0}
    if len(wanted) > _MANY:
        return
    if not any(_is_carried(bridge, vid or 0, port.number) for vid in wanted):
        (vid, *more) = sorted(each or 0 for each in wanted)
        where = "" if not vid or more else f" in {vlan(vid)}"
        yield Reason(
            f"no other port{where} forwards, so {_host(subject)} on port {port.name} reaches"
            " nothing",
            f"ofapp vlan show {bridge.name}, and ofapp port show {bridge.name}",
        )


def _is_carried(bridge: Bridge, vid: int, but: int) -> bool:
    """Whether a VLAN leads out of another port that forwards.

    A port without VLANs passes tagged frames, so it counts where a host was learned in that VLAN.
    """
    entries = fdb_tables(bridge).get(vid, {}) if vid else {}
    heard = {entry.port for entry in entries.values()}
    return any(
        not vid or number in heard or not bridge.port_policies.vlans(number).transparent
        for number in bridge.port_policies.members(vid) - {but}
        if bridge.relay.states.get(number) is PortState.FORWARDING
    )


def _not_learned(bridge: Bridge, port: Port, subject: Subject, now: float) -> Iterator[Reason]:
    """Whether the switch drops the host's frames because of learning."""
    if subject.mac is None or subject.vid is None:
        return
    host, name, address = format_mac(subject.mac), port.name, (subject.vid, subject.mac)
    held = held_addresses(bridge).get(address)
    known = None if held is None else bridge.ports.get(held.port)
    if held is not None and held.elsewhere == port.number and known is not None:
        why = "is sticky there" if held.reason == "sticky" else "moved too often"
        yield Reason(
            f"{host} is held down on port {known.name} as it {why}, and its frames on port {name}"
            f" are dropped for {max(round(held.until - now), 1)} s more",
            f"ofapp fdb release {bridge.name} {host} --vlan {subject.vid}",
        )
    policy = bridge.port_policies.policy(port.number)
    fixed = {(each.vid, each.mac) for each in bridge.static_on(port.number)}
    if policy.locked and address not in fixed:
        yield Reason(
            f"port {name} is locked, and {host} is none of its static addresses",
            f"ofapp fdb add {bridge.name} {host} --port {name} --vlan {subject.vid}",
        )
    if bridge.fdb.get(*address) is not None:
        return
    for what, limit in (
        (f"port {name}", port_limit(bridge, port.number)),
        (f"VLAN {subject.vid}", vlan_limits(bridge).get(subject.vid)),
    ):
        if limit is not None and limit.dropping:
            yield Reason(
                f"{what} has its limit of {limit.limit} learned addresses, and frames of further"
                f" hosts such as {host} are dropped",
                f"raise its fdb_max_learned, or forget hosts: ofapp fdb flush {bridge.name}",
            )


def _dropped(bridge: Bridge, port: Port, drops: Mapping[str, AclDrops]) -> Iterator[Reason]:
    """Whether the port's access list drops frames."""
    name = bridge.port_policies.policy(port.number).acl
    dropped = None if name is None else drops.get(name)
    if dropped is not None and dropped.frames:
        yield Reason(
            f"nothing else hinders it, but access list {name} of port {port.name} has dropped"
            f" {dropped.frames} frames, most of them by rule {dropped.rule}",
            f"ofapp acl show {bridge.name}",
        )


def _silent(bridge: Bridge, port: Port, subject: Subject) -> Iterator[Reason]:
    """Whether no host was heard."""
    if subject.mac is not None or port_limit(bridge, port.number).learned:
        return
    if bridge.port_policies.policy(port.number).locked:
        yield Reason(
            f"port {port.name} is locked, and none of its static addresses is heard",
            f"ofapp fdb add {bridge.name} MAC --port {port.name}, or unlock it: ofapp port set"
            f" {bridge.name} {port.name} locked=false",
        )
    yield Reason(
        f"port {port.name} forwards, and no host behind it has sent a frame lately",
        "look at the network settings inside the guest, and start its DHCP client",
    )


def _host(subject: Subject) -> str:
    return "the guest" if subject.mac is None else format_mac(subject.mac)
