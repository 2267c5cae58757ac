"""Whether a frame may enter the bridge at all."""

from __future__ import annotations

from ofapp.openflow.cookie import Feature
from ofapp.openflow.rule import Table, TableId, rule

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
            goto=TableId.SOURCE,
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
            "A port that forwards: its frames enter.",
            goto=TableId.SOURCE,
        ),
        rule(
            "learning",
            100,
            "in_port",
            Feature.MISS,
            "A port in state learning: a copy to the controller, as of unknown sources; drop.",
            actions="controller",
        ),
        rule("closed", 0, "", Feature.BASE, "A port that is discarding, down or unknown: drop."),
    ),
)
