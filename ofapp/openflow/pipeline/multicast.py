"""Who wants a multicast frame: IGMP and MLD snooping (RFC 4541)."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import Table, TableId, rule

MULTICAST = Table(
    TableId.MULTICAST,
    "Who wants it (RFC 4541), by IP addresses: 32 IPv4 groups share a MAC address. What is not IP "
    "goes by MAC address. There only where multicast is snooped.",
    (
        rule(
            "igmp",
            900,
            "eth_type ip_proto",
            Feature.SNOOP,
            "IGMP: the controller alone forwards it.",
            goto=TableId.SNOOP,
        ),
        rule(
            "mld",
            900,
            "eth_type ip_proto icmpv6_type",
            Feature.SNOOP,
            "MLD queries, reports and leaves, multicast router discovery: likewise.",
            goto=TableId.SNOOP,
        ),
        rule(
            "short6",
            900,
            "eth_type ip_proto icmpv6_type ipv6_dst",
            Feature.SNOOP,
            "ICMPv6 of less than 8 octets has no type for the switch: a router's termination "
            "(RFC 4286), and MLD that is cut short and must not pass.",
            goto=TableId.SNOOP,
        ),
        rule(
            "damaged4",
            890,
            "eth_type eth_dst ip_proto ipv4_dst",
            Feature.SNOOP,
            "To a group's address, with an IPv4 header that the switch could not read, so that all "
            "its fields are 0: the controller counts and drops it, as the Linux bridge does. A "
            "broadcast is no group's, and floods.",
            goto=TableId.SNOOP,
        ),
        rule(
            "damaged6",
            890,
            "eth_type eth_dst ip_proto",
            Feature.SNOOP,
            "And of IPv6, extension headers included: no whole packet ends in hop-by-hop options.",
            goto=TableId.SNOOP,
        ),
        rule(
            "pim4",
            900,
            "eth_type ip_proto ipv4_dst",
            Feature.SNOOP,
            "PIM hellos tell where routers are (RFC 4541 2.1.1).",
            goto=TableId.SNOOP,
        ),
        rule(
            "pim6",
            900,
            "eth_type ip_proto ipv6_dst",
            Feature.SNOOP,
            "And those of IPv6.",
            goto=TableId.SNOOP,
        ),
        rule(
            "link-scope4",
            800,
            "eth_type ipv4_dst",
            Feature.SNOOP,
            "224.0.0.0/24 always floods (RFC 4541 2.1.2).",
            (None, TableId.FLOOD),
            "group",
        ),
        rule(
            "link-scope6",
            800,
            "eth_type ipv6_dst",
            Feature.SNOOP,
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
            "Groups that nobody has joined, once a querier is known: to routers.",
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
            Feature.SNOOP,
            "All other IPv4 and IPv6: broadcast, and groups while no querier is known.",
            (None, TableId.FLOOD),
            "group",
        ),
        rule(
            "group-mac",
            300,
            "vlan_vid eth_dst",
            Feature.MULTICAST,
            "A group by its MAC address, for what is not IP: to the ports that somebody has set "
            "and to IPv4 routers, whether a querier is known or not.",
            actions="group",
        ),
        rule(
            "flood",
            0,
            "",
            Feature.SNOOP,
            "Broadcast and other protocols.",
            (None, TableId.FLOOD),
            "group",
        ),
    ),
)

SNOOP = Table(
    TableId.SNOOP,
    "Whose message it is: each port has a meter of its own.",
    (
        rule(
            "snoop",
            100,
            "in_port",
            Feature.SNOOP,
            "The whole frame to the controller, and nowhere else.",
            actions="controller",
        ),
    ),
)
