"""Where a frame goes."""

from __future__ import annotations

from ofapp.openflow.cookie import Feature
from ofapp.openflow.rule import Table, TableId, rule

DESTINATION = Table(
    TableId.DESTINATION,
    "Where it goes.",
    (
        rule(
            "local",
            300,
            "eth_dst",
            Feature.LOCAL,
            "The bridge's own address, on every VLAN.",
            actions="output",
        ),
        rule(
            "static",
            200,
            "vlan_vid eth_dst",
            Feature.STATIC,
            "A static address.",
            actions="output",
        ),
        rule(
            "learned",
            200,
            "vlan_vid eth_dst",
            Feature.LEARNED,
            "A learned address. No timeout of its own: it goes when its source half has gone.",
            actions="output",
        ),
        rule(
            "multicast",
            100,
            "eth_dst",
            Feature.SNOOP,
            "Where IGMP and MLD are snooped: group addresses have a table of their own, which "
            "unicast never sees.",
            goto=TableId.MULTICAST,
        ),
        rule(
            "flood",
            0,
            "",
            Feature.BASE,
            "Broadcast, multicast and unknown destinations: every open port but the ingress.",
            actions="group",
        ),
    ),
)
