"""Who sent a frame: learning."""

from __future__ import annotations

from ofapp.openflow.cookie import Feature
from ofapp.openflow.rule import Table, TableId, rule

SOURCE = Table(
    TableId.SOURCE,
    "Who sent it: known addresses pass, unknown ones are copied to the controller as they pass.",
    (
        rule(
            "local",
            300,
            "eth_src",
            Feature.LOCAL,
            "The bridge's own address, wherever it is claimed: not learned.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "static",
            250,
            "vlan_vid eth_src",
            Feature.STATIC,
            "A static address, wherever it is seen: not learned.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "learned",
            200,
            "in_port vlan_vid eth_src",
            Feature.LEARNED,
            "A known address on the port it is known on. Its idle timeout is the ageing time; "
            "on any other port the address misses and is learned anew.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "miss",
            100,
            "in_port",
            Feature.MISS,
            "An unknown address: a truncated copy to the controller, metered by port, and on.",
            goto=TableId.DESTINATION,
            actions="controller",
        ),
    ),
)
