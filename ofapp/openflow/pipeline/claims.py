"""First-hop security: what a frame claims, and whether anybody on its port may claim that.

The flows are the same on every bridge, and as many for a thousand ports as for one: what is checked
of a port is in a register that its frames get at admission.  What a frame claims to be goes into
registers, too: an IP address and a MAC address, out of the headers or out of the payload of ARP and
neighbour discovery.  So a binding is one flow of table `guard`, for all that it permits.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    ARP,
    IPV4,
    IPV6,
    TO_BRIDGES,
    TO_HOST,
    Action,
    CopyField,
    Flow,
    Match,
    SetRegister,
    bits,
)
from ofapp.openflow.model.rule import Register, Rule, TableId
from ofapp.openflow.model.trap import Trap
from ofapp.openflow.model.traps import DHCP, DHCP_SERVER, ND, ND_TRUSTED, ROUTER, guarded
from ofapp.openflow.pipeline.table import Table

NO_SERVER, NO_ROUTER = 1 << 0, 1 << 1
CHECK_ARP, CHECK_ND = 1 << 2, 1 << 3
CHECK_SOURCE, CHECK_ADDRESS = 1 << 4, 1 << 5
SNOOPED, WATCHED, PASSES, CHECKED = 1 << 6, 1 << 7, 1 << 8, 1 << 9
TRUSTED = 1 << 10
"""Bits of `Register.CHECKS`: DHCP servers and routers are refused; ARP and neighbour discovery are
inspected; sources are checked, by MAC or also by IP address; DHCP clients, and servers and routers,
are for the controller; new claims pass while it is disconnected; any frame may be refused; claims
of IPv6 addresses win over those of guests."""

IPV4_CLAIM, IPV6_CLAIM = 4 << 16, 6 << 16
"""The kind of the claimed IP address, in the first register of `Register.SENDER`."""

_UDP, _ICMP, _IGMP, _ICMPV6, _PIM = 17, 1, 2, 58, 103
_SOLICITATION, _ADVERTISEMENT = 135, 136
_TAGS_AND_LLC = (0x8100, 0x88A8, 0x05FF)  # 0x05ff is how Open vSwitch shows an LLC header
_UNFRAGMENTED, _FRAGMENT = Match("ip_frag", 0), Match("ip_frag", 1, 1)
_TO_ALL = Match("eth_dst", (1 << 48) - 1)
_TO_NODES = Match("eth_dst", 0x3333_0000_0001)
_FOUR, _SIX = Match("eth_type", IPV4), Match("eth_type", IPV6)


def checks(port: DesiredPort) -> int:
    """The bits for a port; 0 if its frames do not pass the tables of first-hop security."""
    guard = guarded(port)
    if guard is None:
        return 0
    set_bits = {
        NO_SERVER: not guard.dhcp_server,
        NO_ROUTER: not guard.router,
        CHECK_ARP: guard.arp,
        CHECK_ND: guard.nd,
        CHECK_SOURCE: guard.source_guard != "off",
        CHECK_ADDRESS: guard.source_guard == "ip",
        SNOOPED: guard.snooped,
        WATCHED: guard.watched,
        PASSES: guard.pass_when_away or guard.report_only,
        CHECKED: guard.checked,
        TRUSTED: guard.trusted,
    }
    return sum(bit for bit, is_set in set_bits.items() if is_set)


class _Claim(NamedTuple):
    """A rule and its flows.  They differ in values, and all match the same fields.

    checked: the bits of `Register.CHECKS` that the rule is for.
    """

    name: str
    priority: int
    checked: int
    matches: tuple[tuple[Match, ...], ...]
    goto: TableId
    about: str
    actions: tuple[Action, ...] = ()


def _udp_of(four: Match, six: Match, *more: Match) -> tuple[tuple[Match, ...], ...]:
    proto = Match("ip_proto", _UDP)
    return (_FOUR, proto, four, *more), (_SIX, proto, six, *more)


def _icmpv6(*types: int, more: tuple[Match, ...] = ()) -> tuple[tuple[Match, ...], ...]:
    proto = Match("ip_proto", _ICMPV6)
    return tuple((_SIX, proto, Match("icmpv6_type", type_), *more) for type_ in types)


def _claim(sender: str, address: str, four: bool = False) -> tuple[Action, ...]:
    """Note the MAC and the IP address in these fields as what the frame claims."""
    kind = IPV4_CLAIM if four else IPV6_CLAIM
    return (
        SetRegister(Register.SENDER, kind),
        CopyField(sender, Register.SENDER),
        CopyField(address, Register.IPV4 if four else Register.ADDRESS),
    )


def _to(trap: Trap) -> SetRegister:
    return SetRegister(Register.TRAP, trap.feature)


_SENDER_ALONE = (CopyField("eth_src", Register.SENDER),)
_FROM_IPV4 = _claim("eth_src", "ipv4_src", four=True)
_FROM_IPV6 = _claim("eth_src", "ipv6_src")
_ADVERTISES = SetRegister(Register.ADVERTISES, 1)
_UNSPECIFIED = Match("ipv6_src", 0)

_CLAIMS = (
    _Claim(
        "encapsulated",
        900,
        CHECKED,
        tuple((Match("eth_type", kind),) for kind in _TAGS_AND_LLC),
        TableId.REFUSED,
        "A second tag, or an LLC header but SNAP's of Ethernet types: what is behind it is hidden "
        "from the rules below, and a host may read it all the same (CVE-2021-27853, 27861, 27862).",
    ),
    _Claim(
        "unreadable",
        890,
        CHECKED,
        ((_SIX, Match("ip_proto", 0)),),
        TableId.REFUSED,
        "IPv6 headers that end behind the frame, or behind its first fragment (RFC 7112, 7113).",
    ),
    _Claim(
        "nd-fragment",
        880,
        CHECKED,
        ((_SIX, Match("ip_proto", _ICMPV6), Match("nw_ttl", 255), _FRAGMENT),),
        TableId.REFUSED,
        "ICMPv6 in fragments with the hop limit of neighbour discovery, which is never valid in "
        "fragments (RFC 6980). Of any type, as a further fragment may overlap the type; large "
        "pings have 64. Other protocols pass: without the first fragment hosts drop all.",
    ),
    _Claim(
        "server",
        870,
        NO_SERVER,
        _udp_of(Match("udp_dst", 68), Match("udp_dst", 546)),
        TableId.REFUSED,
        "A message to a DHCP client, from a port where no server may be.",
    ),
    _Claim(
        "relay",
        870,
        NO_SERVER,
        _udp_of(Match("udp_src", 67), Match("udp_src", 547)),
        TableId.REFUSED,
        "A message of a DHCP server to a relay agent, or of an agent.",
    ),
    _Claim(
        "router",
        860,
        NO_ROUTER,
        _icmpv6(134, 137),
        TableId.REFUSED,
        "A router advertisement or redirect, from a port where no router may be (RFC 6105).",
    ),
    _Claim(
        "router4",
        860,
        NO_ROUTER,
        tuple((_FOUR, Match("ip_proto", _ICMP), Match("icmpv4_type", kind)) for kind in (5, 9)),
        TableId.REFUSED,
        "And a redirect or router advertisement of IPv4 (RFC 1256).",
    ),
    _Claim(
        "multicast-router6",
        861,
        NO_ROUTER,
        _icmpv6(130, 151, 152, 153),
        TableId.REFUSED,
        "MLD queries and multicast router discovery (RFC 4286).",
    ),
    _Claim(
        "short6",
        861,
        NO_ROUTER,
        _icmpv6(0, more=(_UNFRAGMENTED,)),
        TableId.REFUSED,
        "ICMPv6 of less than 8 octets, which has no type for the switch: only multicast router "
        "discovery is so short.",
    ),
    _Claim(
        "pim",
        860,
        NO_ROUTER,
        tuple((family, Match("ip_proto", _PIM)) for family in (_FOUR, _SIX)),
        TableId.REFUSED,
        "PIM.",
    ),
    _Claim(
        "igmp-general",
        861,
        NO_ROUTER,
        tuple(
            (_FOUR, Match("ip_proto", _IGMP), Match("ipv4_dst", group))
            for group in (0xE0000001, 0xE000006A)
        ),
        TableId.REFUSED,
        "IGMP to 224.0.0.1, as general queries have it, or 224.0.0.106, as multicast router "
        "discovery has it. Queries of one group look like reports to the switch: snooping drops "
        "them (`multicast.PortParams.hosts_only`).",
    ),
    _Claim(
        "igmp-to-host",
        862,
        NO_ROUTER,
        tuple((_FOUR, Match("ip_proto", _IGMP), to) for to in (TO_HOST, _TO_ALL)),
        TableId.REFUSED,
        "IGMP to one host or by broadcast, which snooping does not see: no report goes there.",
    ),
    _Claim(
        "offer",
        850,
        WATCHED,
        _udp_of(Match("udp_dst", 68), Match("udp_dst", 546), _UNFRAGMENTED),
        TableId.TRAPS,
        "A message to a DHCP client, from a port where a server may be. Fragments pass.",
        (_to(DHCP_SERVER),),
    ),
    _Claim(
        "relayed-offer",
        850,
        WATCHED,
        (
            (
                *(_SIX, Match("ip_proto", _UDP)),
                *(Match("udp_src", 547), Match("udp_dst", 547), _UNFRAGMENTED),
            ),
        ),
        TableId.TRAPS,
        "The answer to what the controller has relayed (RFC 6221).",
        (_to(DHCP_SERVER),),
    ),
    _Claim(
        "advertised",
        840,
        WATCHED,
        _icmpv6(134),
        TableId.TRAPS,
        "A router advertisement, from a port where a router may be.",
        (_to(ROUTER),),
    ),
    _Claim(
        "dhcp4",
        830,
        SNOOPED,
        ((_FOUR, Match("ip_proto", _UDP), Match("udp_dst", 67)),),
        TableId.TRAPS,
        "A message to a DHCP server, from a port whose hosts have bindings.",
        (*_FROM_IPV4, _to(DHCP)),
    ),
    _Claim(
        "dhcp6",
        831,
        SNOOPED,
        ((_SIX, Match("ip_proto", _UDP), Match("udp_dst", 547)),),
        TableId.TRAPS,
        "And of DHCPv6.",
        (*_FROM_IPV6, _to(DHCP)),
    ),
    _Claim(
        "trusted-dad",
        826,
        TRUSTED,
        _icmpv6(_SOLICITATION, more=(_UNSPECIFIED,)),
        TableId.TRAPS,
        "Duplicate address detection of a trusted host, which a guest with the address must not "
        "answer: first the controller removes the guest's first-come binding.",
        (_to(ND_TRUSTED),),
    ),
    _Claim(
        "trusted-announcement",
        825,
        TRUSTED,
        _icmpv6(_ADVERTISEMENT, more=(_TO_NODES,)),
        TableId.TRAPS,
        "And an announcement to all nodes (RFC 4861 7.2.6), as of a router that takes over.",
        (_to(ND_TRUSTED),),
    ),
    _Claim(
        "router-solicitation",
        820,
        CHECK_ND,
        _icmpv6(133),
        TableId.TRAPS,
        "A host looks for routers: it is about to configure addresses.",
        (*_FROM_IPV6, _to(ND)),
    ),
    _Claim(
        "nd-damaged",
        815,
        CHECK_ND,
        _icmpv6(_SOLICITATION, more=(Match("ipv6_nd_target", 0),)),
        TableId.REFUSED,
        "A solicitation without a target: Open vSwitch shows none where an option is repeated.",
    ),
    _Claim(
        "dad",
        810,
        CHECK_ND,
        _icmpv6(_SOLICITATION, more=(_UNSPECIFIED,)),
        TableId.TRAPS,
        "Duplicate address detection claims the target (RFC 4862 5.4). Also that of an owner is "
        "for the controller: until it is done, the owner does not answer whether it is there.",
        (*_claim("eth_src", "ipv6_nd_target"), _to(ND)),
    ),
    _Claim(
        "solicitation-bare",
        800,
        CHECK_ND,
        _icmpv6(_SOLICITATION, more=(Match("ipv6_nd_sll", 0),)),
        TableId.GUARD,
        "A solicitation without a link-layer address claims its source.",
        _FROM_IPV6,
    ),
    _Claim(
        "solicitation",
        790,
        CHECK_ND,
        _icmpv6(_SOLICITATION),
        TableId.GUARD,
        "And one with a link-layer address claims that, too.",
        _claim("ipv6_nd_sll", "ipv6_src"),
    ),
    _Claim(
        "advertisement-bare",
        800,
        CHECK_ND,
        _icmpv6(_ADVERTISEMENT, more=(Match("ipv6_nd_tll", 0),)),
        TableId.GUARD,
        "An advertisement claims its target.",
        (*_claim("eth_src", "ipv6_nd_target"), _ADVERTISES),
    ),
    _Claim(
        "advertisement",
        791,
        CHECK_ND,
        _icmpv6(_ADVERTISEMENT),
        TableId.GUARD,
        "And one with a link-layer address claims that, too.",
        (*_claim("ipv6_nd_tll", "ipv6_nd_target"), _ADVERTISES),
    ),
    _Claim(
        "arp-probe",
        810,
        CHECK_ARP,
        ((Match("eth_type", ARP), Match("arp_spa", 0)),),
        TableId.GUARD,
        "A probe claims the address that it asks for (RFC 5227 2.1.1).",
        _claim("arp_sha", "arp_tpa", four=True),
    ),
    _Claim(
        "arp",
        800,
        CHECK_ARP,
        ((Match("eth_type", ARP),),),
        TableId.GUARD,
        "ARP claims the sender's addresses in its payload.",
        _claim("arp_sha", "arp_spa", four=True),
    ),
    _Claim(
        "igmp",
        700,
        CHECK_ADDRESS,
        ((_FOUR, Match("ip_proto", _IGMP), Match("ipv4_src", 0)),),
        TableId.GUARD,
        "IGMP of a host that has no address yet (RFC 3376 4.2.13): any host with a binding.",
        _SENDER_ALONE,
    ),
    _Claim(
        "unspecified",
        700,
        CHECK_ADDRESS,
        _icmpv6(131, 132, 133, 135, 143, more=(_UNSPECIFIED,)),
        TableId.GUARD,
        "And MLD (RFC 3590 4), router solicitations and duplicate address detection.",
        _SENDER_ALONE,
    ),
    _Claim(
        "ipv4",
        600,
        CHECK_ADDRESS,
        ((_FOUR,),),
        TableId.GUARD,
        "Other IPv4 claims its source address.",
        _FROM_IPV4,
    ),
    _Claim(
        "ipv6",
        601,
        CHECK_ADDRESS,
        ((_SIX,),),
        TableId.GUARD,
        "And other IPv6.",
        _FROM_IPV6,
    ),
    _Claim(
        "sender",
        500,
        CHECK_SOURCE,
        ((),),
        TableId.GUARD,
        "Any other frame claims its source MAC address alone.",
        _SENDER_ALONE,
    ),
)

_BPDU = Match("eth_dst", TO_BRIDGES.value)
_UNGUARDED = Match(f"reg{Register.CHECKS.value}", 0, CHECK_SOURCE)


def _rules() -> Iterator[Rule]:
    about = "BPDUs that pass (see `bpdu-pass`), from ports where sources are not checked: onward."
    fields = frozenset({"eth_dst", _UNGUARDED.field})
    yield Rule("bpdu", 1000, fields, Feature.FIRST_HOP, about, (TableId.CHECKED,))
    for claim in sorted(_CLAIMS, key=lambda claim: -claim.priority):
        fields = frozenset({_UNGUARDED.field, *(match.field for match in claim.matches[0])})
        kinds = frozenset(action.kind for action in claim.actions)
        feature = Feature.FIRST_HOP
        yield Rule(claim.name, claim.priority, fields, feature, claim.about, (claim.goto,), kinds)
    about = "What is not checked: onward."
    yield Rule("rest", 0, frozenset(), Feature.FIRST_HOP, about, (TableId.CHECKED,))


def _flows() -> Iterator[Flow]:
    table, feature = TableId.CLAIMS, Feature.FIRST_HOP
    yield Flow(table, 1000, (_BPDU, _UNGUARDED), feature, (), TableId.CHECKED)
    for claim in _CLAIMS:
        checked = bits(Register.CHECKS, claim.checked)
        for match in claim.matches:
            where = (checked, *match)
            yield Flow(table, claim.priority, where, feature, claim.actions, claim.goto)
    yield Flow(table, 0, (), feature, (), TableId.CHECKED)


_FLOWS = tuple(_flows())

CLAIMS = Table(
    TableId.CLAIMS,
    "claims",
    "What a frame claims (first-hop security): which IP and MAC address, or to be a router or a "
    "DHCP server. `reg5` says what is checked of its port, `reg8` to `reg11` get the IP address, "
    "`reg12` and `reg13` the MAC address. Only frames of ports that are guarded or watched come "
    "here, and the tables up to `checked` are there only where there are such.",
    tuple(_rules()),
    flows=lambda desired, _metered: _FLOWS if desired.port_policies.checked else (),
    passes=lambda port, _metered: guarded(port) is not None,
)
