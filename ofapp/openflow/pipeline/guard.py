"""First-hop security: who may use which address on which port, and what follows.

A host with bindings has one flow for itself and one for each address, on the port and in the VLAN
of the bindings.  What they permit is the same for headers, ARP and neighbour discovery, as `claims`
puts what a frame claims into registers.
"""

import struct
from collections.abc import Iterator
from functools import lru_cache

from ofapp.bridge.effects.content import BoundAddress, BoundHost
from ofapp.bridge.first_hop.binding import link_local
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    IPV6,
    CopyField,
    Flow,
    Match,
    Resubmit,
    SetRegister,
    bits,
    in_port,
    register,
    vlan,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.model.traps import trap_rules
from ofapp.openflow.pipeline.claims import CHECK_ADDRESS, IPV4_CLAIM, IPV6_CLAIM
from ofapp.openflow.pipeline.table import Table

_GUARD_RULES = (
    rule(
        "host",
        100,
        "in_port vlan_vid eth_src reg12 reg13",
        Feature.BINDING,
        "A frame that claims no IP address, of a host that has a binding.",
        TableId.CHECKED,
    ),
    rule(
        "ipv4",
        100,
        "in_port vlan_vid eth_src reg11 reg12 reg13",
        Feature.BINDING,
        "A binding: this MAC address may use this IPv4 address.",
        TableId.CHECKED,
    ),
    rule(
        "ipv6",
        100,
        "in_port vlan_vid eth_src reg8 reg9 reg10 reg11 reg12 reg13",
        Feature.BINDING,
        "The same for IPv6. The link-local address that follows from its MAC address (RFC 4291 A) "
        "is each host's.",
        TableId.CHECKED,
    ),
    rule(
        "prefix",
        100,
        "in_port vlan_vid eth_src reg8 reg12 reg13",
        Feature.BINDING,
        "And for a delegated prefix (RFC 8415 6.3), of which only its bits count.",
        TableId.CHECKED,
        optional=("reg9", "reg10"),
    ),
    rule("other", 0, "", Feature.FIRST_HOP, "A claim without a binding.", TableId.REFUSED),
)

_CHECKED_RULES = (
    rule(
        "advertisement",
        100,
        "eth_type reg5 reg7",
        Feature.FIRST_HOP,
        "A neighbour advertisement whose target has a binding: its source needs one, too.",
        actions="register resubmit",
    ),
    rule(
        "no-list",
        10,
        "reg3",
        Feature.FIRST_HOP,
        "From a port without an access list.",
        TableId.SOURCE,
    ),
    rule("list", 0, "", Feature.FIRST_HOP, "From one with a list.", TableId.ACL),
)

_FLOWS = (Flow(TableId.GUARD, 0, (), Feature.FIRST_HOP, (), TableId.REFUSED),)
_REFUSED = (Flow(TableId.REFUSED, 0, (), Feature.FIRST_HOP),)
_AGAIN = (
    SetRegister(Register.ADVERTISES, 0),
    CopyField("eth_src", Register.SENDER),
    CopyField("ipv6_src", Register.ADDRESS),
    Resubmit(TableId.GUARD),
)
_CHECKED = (
    Flow(
        *(TableId.CHECKED, 100),
        (
            Match("eth_type", IPV6),
            register(Register.ADVERTISES, 1),
            bits(Register.CHECKS, CHECK_ADDRESS),
        ),
        Feature.FIRST_HOP,
        _AGAIN,
    ),
    Flow(
        *(TableId.CHECKED, 10, (register(Register.ACL, 0),), Feature.FIRST_HOP),
        goto=TableId.SOURCE,
    ),
    Flow(TableId.CHECKED, 0, (), Feature.FIRST_HOP, (), TableId.ACL),
)

_WORD = struct.Struct("!I")


def bound_flows(host: BoundHost) -> Iterator[Flow]:
    """The flows that let a host send; none for one without addresses."""
    if not host.addresses:
        return
    here = in_port(host.port), vlan(host.vid), Match("eth_src", host.mac)
    yield _bound(*here, *_sender(host.mac, 0))
    four, six = _sender(host.mac, IPV4_CLAIM), _sender(host.mac, IPV6_CLAIM)
    for address in dict.fromkeys((link_local(host.mac), *host.addresses)):
        of_four = len(address.octets) == 4
        yield _bound(*here, *_claimed(address), *(four if of_four else six))


def _bound(*match: Match) -> Flow:
    return Flow(TableId.GUARD, 100, match, Feature.BINDING, (), TableId.CHECKED)


def _sender(mac: int, kind: int) -> tuple[Match, Match]:
    upper, lower = divmod(mac, 1 << 32)
    return _register(Register.SENDER, kind | upper), _register(Register.SENDER + 1, lower)


def _claimed(address: BoundAddress) -> list[Match]:
    """The registers of the address, as far as its bits reach."""
    first = Register.IPV4 if len(address.octets) == 4 else Register.ADDRESS
    matches, left = [], address.bits
    for number, (value,) in enumerate(_WORD.iter_unpack(address.octets), first):
        if left >= 32:
            matches.append(_register(number, value))
        elif left > 0:
            mask = 0xFFFFFFFF << 32 - left & 0xFFFFFFFF
            matches.append(Match(f"reg{number}", value & mask, mask))
        left -= 32
    return matches


@lru_cache(1 << 12)
def _register(number: int, value: int) -> Match:
    """Made once: hosts of one network have most of their registers in common."""
    return Match(f"reg{number}", value)


GUARD = Table(
    TableId.GUARD,
    "guard",
    "Whether a host may claim that: bindings. All else is refused.",
    _GUARD_RULES,
    flows=lambda desired, _metered: _FLOWS if desired.port_policies.checked else (),
)

REFUSED = Table(
    TableId.REFUSED,
    "refused",
    "What first-hop security refuses, by port.",
    (
        *trap_rules(TableId.REFUSED),
        rule("rest", 0, "", Feature.FIRST_HOP, "From a port that is not guarded any more: drop."),
    ),
    flows=lambda desired, _metered: _REFUSED if desired.port_policies.checked else (),
)

CHECKED = Table(
    TableId.CHECKED,
    "checked",
    "Frames that may pass: to the table that their port's frames would come to without all this. "
    "Here those enter that the controller forwards (`ForwardFrame`).",
    (*trap_rules(TableId.CHECKED), *_CHECKED_RULES),
    flows=lambda desired, _metered: _CHECKED if desired.port_policies.checked else (),
)
