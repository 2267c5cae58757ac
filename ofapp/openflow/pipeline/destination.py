"""Where a frame goes, and whether it may leave there."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import Table, TableId, rule

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
            actions="output group",
        ),
        rule(
            "local-vlan",
            300,
            "vlan_vid eth_dst",
            Feature.LOCAL,
            "The same, on the VLANs of a LOCAL port that has such.",
            actions="output group",
        ),
        rule(
            "static",
            200,
            "vlan_vid eth_dst",
            Feature.STATIC,
            "A static address; one in a VLAN that its port is no member of is dropped.",
            actions="output group",
        ),
        rule(
            "learned",
            200,
            "vlan_vid eth_dst",
            Feature.LEARNED,
            "A learned address. No timeout of its own: it goes when its source half has gone. "
            "The port's own group takes the tag off where the VLAN leaves the port untagged, and "
            "leads through the egress table where more is asked of the port.",
            actions="output group",
        ),
        rule(
            "sticky",
            200,
            "vlan_vid eth_dst",
            Feature.STICKY,
            "The same for an address of a sticky port.",
            actions="output group",
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
            "unknown-unicast",
            10,
            "in_port eth_dst",
            Feature.STORM,
            "Unknown unicast of a port with storm control: what is above the rate is dropped.",
            goto=TableId.FLOOD,
        ),
        rule(
            "flood-vlan",
            0,
            "",
            Feature.VLAN,
            "Broadcast, multicast and unknown destinations, where VLANs differ or unknown unicast "
            "is metered. Otherwise:",
            goto=TableId.FLOOD,
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

FLOOD = Table(
    TableId.FLOOD,
    "Whom a VLAN's frames flood to. There only where VLANs differ, or unknown unicast is metered.",
    (
        rule(
            "vlan",
            100,
            "vlan_vid",
            Feature.VLAN,
            "A VLAN, or a block of VLANs with the same ports: those ports but the ingress.",
            actions="group",
        ),
        rule(
            "others",
            0,
            "",
            Feature.VLAN,
            "All other VLANs: transparent ports, and trunks of all VLANs.",
            actions="group",
        ),
    ),
)

EGRESS = Table(
    TableId.EGRESS,
    "Whether a frame may leave by a port of which more is asked, and how. `reg0` is that port, "
    "`reg1` is 1 for a frame from an isolated port, `reg2` 1 for one that floods.",
    (
        rule(
            "isolated",
            400,
            "reg0 reg1",
            Feature.EGRESS,
            "From one isolated port to another: drop.",
        ),
        rule(
            "broadcast",
            330,
            "reg0 reg2 eth_dst",
            Feature.EGRESS,
            "A port that broadcasts do not flood to: drop. On one that gets them, but no other "
            "multicast: once more, as if the frame were for the port alone.",
            actions="register resubmit",
        ),
        rule(
            "multicast",
            320,
            "reg0 reg2 eth_dst",
            Feature.EGRESS,
            "A port that multicast does not flood to: drop.",
        ),
        rule(
            "unknown-unicast",
            310,
            "reg0 reg2 eth_dst",
            Feature.EGRESS,
            "A port that frames to unknown hosts do not flood to: drop.",
        ),
        rule(
            "hairpin-vlan",
            210,
            "in_port reg0 vlan_vid",
            Feature.EGRESS,
            "Back to where it came from, in a VLAN that leaves the port untagged.",
            actions="output vlan",
        ),
        rule(
            "hairpin",
            200,
            "in_port reg0",
            Feature.EGRESS,
            "Back to where it came from; or, on a port with a mirror and no hairpin, nowhere, so "
            "that the mirror gets no copy of what does not leave.",
            actions="output vlan",
        ),
        rule(
            "out-vlan",
            110,
            "reg0 vlan_vid",
            Feature.EGRESS,
            "Out, in a VLAN that leaves the port untagged; and to a mirror.",
            actions="output vlan",
        ),
        rule("out", 100, "reg0", Feature.EGRESS, "Out; and to a mirror.", actions="output vlan"),
        rule("nowhere", 0, "", Feature.EGRESS, "No such port: drop."),
    ),
)
