"""Whether a frame may enter the bridge: its port's state, its VLAN, how many such there are."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import Table, TableId, rule

_ONWARDS = (TableId.VLAN, TableId.STORM, TableId.ACL, TableId.SOURCE)
"""Each port skips the tables that it has no use for."""

ADMISSION = Table(
    TableId.ADMISSION,
    "Whether a frame may enter the bridge at all.",
    (
        rule(
            "group-source",
            1000,
            "eth_src",
            Feature.BASE,
            "A group address is nobody's source: drop.",
        ),
        rule(
            "zero-source",
            990,
            "eth_src",
            Feature.BASE,
            "Nor is the zero address: drop.",
        ),
        rule(
            "bpdu",
            930,
            "in_port eth_dst",
            Feature.BPDU,
            "A BPDU on a port where spanning tree runs: to the controller alone, whatever the "
            "port's state. The controller renews the flow; when it is gone, the flow goes too, and "
            "the next rule lets the neighbours' spanning trees see each other through this bridge.",
            actions="controller",
        ),
        rule(
            "bpdu-pass",
            920,
            "in_port eth_dst",
            Feature.PORT,
            "No spanning tree runs: a BPDU is an ordinary multicast, as on the Linux bridge.",
            _ONWARDS,
            "output register",
        ),
        rule(
            "link-local",
            900,
            "eth_dst",
            Feature.BASE,
            "The rest of 01:80:c2:00:00:0x, pause frames among it, is never forwarded "
            "(802.1D-2004 7.12.6): drop.",
        ),
        rule(
            "port",
            100,
            "in_port",
            Feature.PORT,
            "A port that forwards: its frames enter. What later tables ask of the port goes with "
            "them: whether it is isolated, which access list it has; and a mirror gets its copy.",
            _ONWARDS,
            "output register",
        ),
        rule(
            "learning",
            100,
            "in_port",
            Feature.MISS,
            "A port in state learning: a copy to the controller, as of unknown sources; drop. "
            "On a port with VLANs or an access list the copy waits until these have been asked.",
            (None, *_ONWARDS[:3]),
            "controller output register",
        ),
        rule("closed", 0, "", Feature.BASE, "A port that is discarding, down or unknown: drop."),
    ),
)

VLAN = Table(
    TableId.VLAN,
    "Which VLAN a frame is in (802.1Q-2018 6.9): from here on it carries that VLAN's tag. "
    "Only frames of ports with VLANs of their own come here.",
    (
        rule(
            "untagged",
            100,
            "in_port vlan_vid",
            Feature.VLAN,
            "Without a tag: the port's own VLAN (PVID).",
            _ONWARDS[1:],
            "vlan",
        ),
        rule(
            "priority-tagged",
            110,
            "in_port vlan_vid",
            Feature.VLAN,
            "A tag with VID 0 tells a priority and no VLAN: likewise.",
            _ONWARDS[1:],
            "vlan",
        ),
        rule(
            "tagged-twice",
            120,
            "eth_type vlan_vid",
            Feature.VLAN,
            "A tag with VID 0, and behind it another one, of either kind: drop. Where the VLAN "
            "leaves a port untagged, the next bridge would take the frame for one of the inner "
            "tag's VLAN.",
        ),
        rule(
            "tagged",
            90,
            "in_port vlan_vid",
            Feature.VLAN,
            "A VLAN, or an aligned block of VLANs, that the port is a member of.",
            _ONWARDS[1:],
        ),
        rule(
            "not-member",
            0,
            "",
            Feature.VLAN,
            "Ingress filtering (802.1Q-2018 8.6.2): drop.",
        ),
    ),
)

STORM = Table(
    TableId.STORM,
    "How many frames that flood a port may send: what is above the rate of a meter is dropped. "
    "Unknown unicast, which only the destination table knows, is metered there.",
    (
        rule(
            "broadcast",
            120,
            "in_port eth_dst",
            Feature.STORM,
            "Broadcasts, metered or, where only other multicast is, not.",
            _ONWARDS[2:],
        ),
        rule(
            "multicast",
            110,
            "in_port eth_dst",
            Feature.STORM,
            "Multicast.",
            _ONWARDS[2:],
        ),
        rule(
            "rest",
            100,
            "in_port",
            Feature.STORM,
            "Everything else.",
            _ONWARDS[2:],
        ),
    ),
)
