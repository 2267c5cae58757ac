"""Reasons of first-hop security: no lease, no binding, a claim that a binding contradicts."""

from collections.abc import Iterator
from ipaddress import ip_address

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.diagnosis.reason import Reason, ago, listed, times, vlan
from ofapp.bridge.diagnosis.subject import Subject
from ofapp.bridge.first_hop.binding import Binding, Refused
from ofapp.bridge.first_hop.ethertypes import admitted, named
from ofapp.bridge.first_hop.refused.reasons import REMEDIES, words
from ofapp.bridge.mac import format_mac
from ofapp.bridge.ports.port import LOCAL_PORT, Port

RECENT = 300.0
"""Seconds for which a refused frame explains why a host with a binding has no network."""

_CLAIMS = {
    "source": "frames of {mac} from {address}",
    "arp": "ARP of {mac} for {address}",
    "nd": "neighbour discovery of {mac} for {address}",
    "fragment": "fragments of {mac} that cannot be checked",
    "dhcp": "DHCP messages of {mac}",
    "ethertype": "frames of {mac} with EtherType {ethertype}",
    "nested": "frames of {mac} with nested tags, which cannot be checked",
}
"""Refused claims that cut a host off; a host does not need to be a server or a router."""


def unbound(bridge: Bridge, port: Port, subject: Subject, now: float) -> Iterator[Reason]:
    """Whether first-hop security refuses a host's frames."""
    guard = bridge.params.port(port.name, port.number).first_hop
    if subject.mac is None or subject.vid is None:
        return
    if not guard.guards:
        yield from _refused(bridge, subject, [], now)
        return
    bound = [*bridge.first_hop.of_host(subject.vid, subject.mac)]
    here = [binding for binding in bound if binding.port == port.name]
    yield from _full(bridge, port, subject)
    yield from _elsewhere(bridge, port, subject, bound, here)
    if not any(len(binding.address.octets) == 4 for binding in here):
        yield from _unanswered(bridge, port, subject, now)
    yield from _refused(bridge, subject, here, now)
    if not here:
        yield from _never_bound(bridge, port, subject, now)


def _full(bridge: Bridge, port: Port, subject: Subject) -> Iterator[Reason]:
    assert subject.vid is not None
    for limit in bridge.first_hop.full(port.name, subject.vid):
        if limit.refused:
            yield Reason(
                f"{limit.where} has its limit of {limit.most} bindings, so {_mac(subject)} gets no"
                " further one",
                "raise max_bindings, or remove bindings that are not needed: ofapp binding show"
                f" {bridge.name}",
            )


def _elsewhere(
    bridge: Bridge, port: Port, subject: Subject, bound: list[Binding], here: list[Binding]
) -> Iterator[Reason]:
    """Whether the host's bindings are on another port, or in another VLAN."""
    away = next((binding for binding in bound if binding.port != port.name), None)
    if away is not None and not here:
        yield Reason(
            f"{_mac(subject)} is bound to port {away.port}, so its frames on port {port.name} are"
            " refused",
            f"after a migration, end the guest at {away.port}, or renew the lease in the guest; to"
            f" allow it at once: {_removing(bridge, away)}",
        )
    others = [each for each in bridge.first_hop.bindings() if each.mac == subject.mac]
    if others and not bound:
        (first, *_) = others
        yield Reason(
            f"{_mac(subject)} is bound in {vlan(first.vid)} and sends in {vlan(subject.vid or 0)}",
            f"set the `vlan` of port {port.name}, or renew the lease in the guest",
        )


def _unanswered(bridge: Bridge, port: Port, subject: Subject, now: float) -> Iterator[Reason]:
    """Whether DHCP requests have no answer."""
    assert subject.mac is not None
    for request in bridge.first_hop.unanswered(subject.mac):
        if (request.port, request.vid) == (port.name, subject.vid):
            servers = _servers(bridge)
            where = (
                f"servers may answer on {_ports(servers)}"
                if servers
                else "no port may have a DHCP server"
            )
            yield Reason(
                f"{_mac(subject)} has asked for a lease by DHCP {times(request.count)} (the last,"
                f" {request.kind}, {ago(request.last, now)}), and no server has answered; {where}",
                "see that a server runs in the guest's VLAN, and that its port has `trust: uplink`"
                " or `dhcp_server: true`",
            )


def _servers(bridge: Bridge) -> list[str]:
    """The ports that are up and may have a DHCP server."""
    params = bridge.params
    return [
        "LOCAL" if port.number == LOCAL_PORT else port.name
        for port in bridge.ports
        if port.up and params.port(port.name, port.number).first_hop.dhcp_server
    ]


def _ports(names: list[str]) -> str:
    return f"port{'' if len(names) == 1 else 's'} {listed(names)}"


def _refused(bridge: Bridge, subject: Subject, here: list[Binding], now: float) -> Iterator[Reason]:
    """Whether the host's frames were refused, and its bindings here do not allow them by now.

    Of a host with bindings only refusals of the last minutes count.
    """
    allowed = {binding.address.octets for binding in here}
    types = None if subject.port is None else admitted(_ethertypes(bridge, subject.port))
    for each in bridge.first_hop.refused():
        mine = (each.port, each.vid, each.mac) == (subject.port, subject.vid, subject.mac)
        asked = subject.address in (None, each.address)
        over = each.address in allowed or (bool(here) and each.last < now - RECENT)
        if each.ethertype is not None:
            over = types is None or each.ethertype in types or each.last < now - RECENT
        if mine and asked and not each.passed and not over and each.claim in _CLAIMS:
            yield Reason(refusal(each, now), _remedy(bridge, each))


def refusal(refused: Refused, now: float) -> str:
    """Describe the refused claim and the binding that contradicts it, in one sentence."""
    address = _ip(refused.address)
    claim = _CLAIMS.get(refused.claim, f"{refused.claim} of {{mac}}")
    what = claim.format(mac=format_mac(refused.mac), address=address, ethertype=_type(refused))
    samples = "1 sample" if refused.samples == 1 else f"{refused.samples} samples"
    said = f"{what} are" if claim.startswith(("fr", "DHCP")) else f"{what} is"
    text = f"{said} refused on port {refused.port} ({samples}, the last {ago(refused.last, now)})"
    binding = refused.contradicts
    if binding is not None and binding.mac == refused.mac:
        return f"{text}: {address} is bound to it on port {binding.port} ({_origin(binding)})"
    if binding is not None:
        holder = f"{format_mac(binding.mac)} on port {binding.port} ({_origin(binding)})"
        return f"{text}: {address} is bound to {holder}"
    if refused.reason:
        return f"{text}: {words(refused.reason)}"
    if refused.ethertype is not None:
        return f"{text}: the port does not admit them"
    return text if refused.address is None else f"{text}: {address} has no binding there"


def _remedy(bridge: Bridge, refused: Refused) -> str:
    if refused.reason in REMEDIES:
        return REMEDIES[refused.reason]
    if refused.ethertype is not None:
        types = f"{_ethertypes(bridge, refused.port)},{named(refused.ethertype)}"
        return (
            "stop the program in the guest that sends them, or admit them: ofapp first-hop set-port"
            f" {bridge.name} {refused.port} --ethertypes {types}"
        )
    if refused.address is None:
        return "stop the program in the guest that sends them"
    if refused.contradicts is not None:
        old = _removing(bridge, refused.contradicts)
        return f"use the address in one guest alone, or remove its old binding: {old}"
    add = _adding(bridge, refused.port, refused.vid, refused.mac, _ip(refused.address))
    return f"use DHCP in the guest, or allow the address: {add}"


def _adding(bridge: Bridge, port: str, vid: int, mac: int, address: str) -> str:
    return (
        f"ofapp binding add {bridge.name} {format_mac(mac)} {address} --port {port}{_option(vid)}"
    )


def _removing(bridge: Bridge, binding: Binding) -> str:
    return f"ofapp binding remove {bridge.name} {binding.address}{_option(binding.vid)}"


def _option(vid: int) -> str:
    return f" --vlan {vid}" if vid else ""


def _never_bound(bridge: Bridge, port: Port, subject: Subject, now: float) -> Iterator[Reason]:
    """Whether the host has no binding any more, or never had one."""
    assert subject.mac is not None
    assert subject.vid is not None
    for ended in bridge.first_hop.ended(subject.mac):
        left = bridge.first_hop.seconds_left(ended, now)
        if (ended.vid, ended.port) == (subject.vid, port.name) and left is not None:
            yield Reason(
                f"the {_origin(ended)} binding of {_mac(subject)} to {ended.address} ended"
                f" {ago(now + left, now)} and was not renewed",
                "renew the lease in the guest",
            )
    add = _adding(bridge, port.name, subject.vid, subject.mac, "ADDRESS")
    yield Reason(
        f"{_mac(subject)} on port {port.name} has no binding, and no DHCP request of it was seen,"
        " so its frames are refused",
        f"start the DHCP client in the guest, or give it a binding: {add}",
    )


def _ethertypes(bridge: Bridge, port: str) -> str:
    """The parameter of a port."""
    return bridge.params.port(port, bridge.ports.numbers.get(port, 0)).first_hop.ethertypes


def _type(refused: Refused) -> str:
    return "" if refused.ethertype is None else named(refused.ethertype)


def _origin(binding: Binding) -> str:
    return {"dhcp": "DHCP", "dhcpv6": "DHCPv6", "nd": "neighbour discovery"}.get(
        binding.origin.value, binding.origin.value
    )


def _mac(subject: Subject) -> str:
    assert subject.mac is not None
    return format_mac(subject.mac)


def _ip(octets: bytes | None) -> str:
    return "an address" if octets is None else str(ip_address(octets))
