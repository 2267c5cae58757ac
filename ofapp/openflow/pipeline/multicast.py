"""Multicast forwarding by IGMP and MLD snooping (RFC 4541).

An entry is a flow that matches by IP addresses, and a separate OpenFlow group with its ports: a
membership change is one group-mod.
"""

from collections.abc import Iterator
from functools import cache
from ipaddress import ip_network

from ofapp.bridge.desired import Desired
from ofapp.bridge.multicast import Family
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import IPV4, IPV6, Flow, Match, ToGroup, vlan
from ofapp.openflow.model.rule import TableId, rule
from ofapp.openflow.model.traps import SNOOPED
from ofapp.openflow.pipeline.entries import Key
from ofapp.openflow.pipeline.flood import floods_by_table
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS, FLOOD_GROUP
from ofapp.openflow.pipeline.table import Table

_IGMP, _ICMPV6, _PIM = 2, 58, 103
_IPV4_GROUPS = 0x0100_5E00_0000, 0xFFFF_FF80_0000
_IPV6_GROUPS = 0x3333_0000_0000, 0xFFFF_0000_0000
_ICMPV6_SNOOPED = (130, 131, 132, 143, 151, 153)  # RFC 2710, 3810, 4286

_RULES = (
    rule(
        "igmp",
        900,
        "eth_type ip_proto",
        SNOOPED.feature,
        "IGMP: the controller alone forwards it.",
        goto=TableId.SNOOP,
    ),
    rule(
        "mld",
        900,
        "eth_type ip_proto icmpv6_type",
        SNOOPED.feature,
        "MLD queries, reports and leaves, and multicast router discovery: the same.",
        goto=TableId.SNOOP,
    ),
    rule(
        "short6",
        900,
        "eth_type ip_proto icmpv6_type ipv6_dst",
        SNOOPED.feature,
        "ICMPv6 of less than 8 octets has no type for the switch: a router's termination "
        "(RFC 4286), and MLD that is cut short and must not pass.",
        goto=TableId.SNOOP,
    ),
    rule(
        "damaged4",
        890,
        "eth_type eth_dst ip_proto ipv4_dst",
        SNOOPED.feature,
        "To a group's address, with an IPv4 header that the switch could not read, so that all "
        "its fields are 0: the controller counts and drops it, as the Linux bridge does.",
        goto=TableId.SNOOP,
    ),
    rule(
        "damaged6",
        890,
        "eth_type eth_dst ip_proto",
        SNOOPED.feature,
        "The same for IPv6, extension headers included: no complete packet ends in "
        "hop-by-hop options.",
        goto=TableId.SNOOP,
    ),
    rule(
        "pim4",
        900,
        "eth_type ip_proto ipv4_dst",
        SNOOPED.feature,
        "PIM hellos: to the controller, which learns router ports by them (RFC 4541 2.1.1).",
        goto=TableId.SNOOP,
    ),
    rule(
        "pim6",
        900,
        "eth_type ip_proto ipv6_dst",
        SNOOPED.feature,
        "The same for IPv6.",
        goto=TableId.SNOOP,
    ),
    rule(
        "link-scope4",
        800,
        "eth_type ipv4_dst",
        SNOOPED.feature,
        "224.0.0.0/24 always floods (RFC 4541 2.1.2).",
        (None, TableId.FLOOD),
        "group",
    ),
    rule(
        "link-scope6",
        800,
        "eth_type ipv6_dst",
        SNOOPED.feature,
        "ff02::1 always floods (RFC 4541 3).",
        (None, TableId.FLOOD),
        "group",
    ),
    rule(
        "source4",
        700,
        "vlan_vid eth_type ipv4_dst ipv4_src",
        Feature.MULTICAST,
        "One source's stream to a group: to the ports that want this source.",
        actions="group",
    ),
    rule(
        "source6",
        700,
        "vlan_vid eth_type ipv6_dst ipv6_src",
        Feature.MULTICAST,
        "The same for IPv6.",
        actions="group",
    ),
    rule(
        "group4",
        600,
        "vlan_vid eth_type ipv4_dst",
        Feature.MULTICAST,
        "A group: to its members and to routers. A membership change is one group-mod.",
        actions="group",
    ),
    rule(
        "group6",
        600,
        "vlan_vid eth_type ipv6_dst",
        Feature.MULTICAST,
        "The same for IPv6.",
        actions="group",
    ),
    rule(
        "unregistered4",
        500,
        "vlan_vid eth_type ipv4_dst",
        Feature.MULTICAST,
        "Groups without members, once a querier is known: to routers.",
        actions="group",
    ),
    rule(
        "unregistered6",
        500,
        "vlan_vid eth_type ipv6_dst",
        Feature.MULTICAST,
        "The same for IPv6.",
        actions="group",
    ),
    rule(
        "other-ip",
        400,
        "eth_type",
        SNOOPED.feature,
        "All other IPv4 and IPv6: groups while no querier is known.",
        (None, TableId.FLOOD),
        "group",
    ),
    rule(
        "group-mac",
        300,
        "vlan_vid eth_dst",
        Feature.MULTICAST,
        "A group by its MAC address, for what is not IP: to the ports of its permanent entries "
        "and to IPv4 routers, whether a querier is known or not.",
        actions="group",
    ),
    rule(
        "flood",
        0,
        "",
        SNOOPED.feature,
        "Other protocols.",
        (None, TableId.FLOOD),
        "group",
    ),
)

_TABLE = TableId.MULTICAST


def _bridge_flows(desired: Desired, metered: bool) -> tuple[Flow, ...]:
    return snooping_flows(floods_by_table(desired, metered)) if desired.snoops else ()


@cache
def snooping_flows(by_table: bool = False) -> tuple[Flow, ...]:
    """The flows of every bridge that snoops multicast; by_table: how its frames flood."""
    return tuple(_snooping_flows(by_table))


def _snooping_flows(by_table: bool) -> Iterator[Flow]:
    flood = () if by_table else (ToGroup(FLOOD_GROUP),)
    goto = TableId.FLOOD if by_table else None
    proto = [Match("ip_proto", number) for number in (_IGMP, _ICMPV6, _PIM)]
    cut_short = (proto[1], Match("icmpv6_type", 0), _address("ff02::", 16))
    trapped = [
        _ip(IPV4, proto[0]),
        *(_ip(IPV6, proto[1], Match("icmpv6_type", type_)) for type_ in _ICMPV6_SNOOPED),
        _ip(IPV4, proto[2], _address("224.0.0.13", 32)),
        _ip(IPV6, proto[2], _address("ff02::d", 128)),
        _ip(IPV6, *cut_short),
    ]
    damaged = [
        _ip(IPV4, Match("eth_dst", *_IPV4_GROUPS), Match("ip_proto", 0), _address("0.0.0.0", 32)),
        _ip(IPV6, Match("eth_dst", *_IPV6_GROUPS), Match("ip_proto", 0)),
    ]
    link_scope = [_ip(IPV4, _address("224.0.0.0", 24)), _ip(IPV6, _address("ff02::1", 128))]
    yield Flow(_TABLE, 0, (), SNOOPED.feature, flood, goto)
    for eth_type in (IPV4, IPV6):
        yield Flow(_TABLE, 400, _ip(eth_type), SNOOPED.feature, flood, goto)
    for match in link_scope:
        yield Flow(_TABLE, 800, match, SNOOPED.feature, flood, goto)
    for match in trapped:
        yield Flow(_TABLE, 900, match, SNOOPED.feature, (), TableId.SNOOP)
    for match in damaged:
        yield Flow(_TABLE, 890, match, SNOOPED.feature, (), TableId.SNOOP)


def entry_flow(key: Key, group: int) -> Flow:
    """The flow that leads an entry's frames to its OpenFlow group."""
    priority, match = _mac_match(key) if key.family is None else _ip_match(key, key.family)
    return Flow(
        _TABLE,
        priority,
        (vlan(key.vid), *match),
        Feature.MULTICAST,
        (ToGroup(group),),
        serial=group - ENTRY_GROUPS,
        notify_removal=False,
    )


def _ip(eth_type: int, *more: Match) -> tuple[Match, ...]:
    return (Match("eth_type", eth_type), *more)


def _address(text: str, length: int) -> Match:
    network = ip_network(f"{text}/{length}")
    mask = None if length == network.max_prefixlen else int(network.netmask)
    return Match(f"ipv{network.version}_dst", int(network.network_address), mask)


def _ip_match(key: Key, family: Family) -> tuple[int, list[Match]]:
    four = family is Family.IPV4
    name, eth_type = ("ipv4", IPV4) if four else ("ipv6", IPV6)
    match = [Match("eth_type", eth_type)]
    if key.group is None:
        whole = (0xE0000000, 0xF0000000) if four else (0xFF << 120, 0xFF << 120)
        match.append(Match(f"{name}_dst", *whole))
    else:
        match.append(Match(f"{name}_dst", int.from_bytes(key.group, "big")))
    if key.source is not None:
        match.append(Match(f"{name}_src", int.from_bytes(key.source, "big")))
    return 500 if key.group is None else 600 if key.source is None else 700, match


def _mac_match(key: Key) -> tuple[int, list[Match]]:
    assert key.group is not None
    return 300, [Match("eth_dst", int.from_bytes(key.group, "big"))]


MULTICAST = Table(
    TableId.MULTICAST,
    "multicast",
    "Members of multicast groups (RFC 4541), by IP address, as 32 IPv4 groups "
    "share a MAC address. Frames that are not IP are matched by MAC address. "
    "Exists only if multicast is snooped.",
    _RULES,
    flows=_bridge_flows,
)
