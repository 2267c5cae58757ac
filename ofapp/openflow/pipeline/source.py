"""Who sent a frame: learning, and who may not."""

from __future__ import annotations

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.rule import Table, TableId, rule

SOURCE = Table(
    TableId.SOURCE,
    "Who sent it: known addresses pass, unknown ones are copied to the controller as they pass.",
    (
        rule(
            "holding",
            400,
            "in_port",
            Feature.MISS,
            "A port in state learning, with its VLAN known: a copy to the controller; drop.",
            actions="controller",
        ),
        rule(
            "locked-static",
            360,
            "in_port vlan_vid eth_src",
            Feature.STATIC,
            "A static address on the locked port that it belongs to: it may pass.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "locked-local",
            360,
            "in_port eth_src",
            Feature.LOCAL,
            "The bridge's own address, should LOCAL be locked.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "locked",
            350,
            "in_port",
            Feature.GUARD,
            "All else that comes in by a locked port, whoever it claims to be: drop.",
        ),
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
            "A known address on the port it is known on. Its idle timeout is the ageing time, or "
            "up to a tenth more, so that not all who fell silent together expire together; "
            "on any other port the address misses and is learned anew.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "sticky",
            200,
            "in_port vlan_vid eth_src",
            Feature.STICKY,
            "The same for an address of a sticky port: it does not age.",
            goto=TableId.DESTINATION,
        ),
        rule(
            "held",
            190,
            "vlan_vid eth_src",
            Feature.HELD,
            "An address that is held down, since it flaps or is sticky, anywhere but on its port: "
            "drop. The controller ends it, or the flow's hard timeout.",
        ),
        rule(
            "full-vlan",
            120,
            "in_port vlan_vid",
            Feature.MISS,
            "A VLAN that has learned all it may, and drops what is beyond: a copy to the "
            "controller, for there may be room again, and drop.",
            actions="controller",
        ),
        rule(
            "full",
            110,
            "in_port",
            Feature.MISS,
            "The same for a port.",
            actions="controller",
        ),
        rule(
            "miss",
            100,
            "in_port",
            Feature.MISS,
            "An unknown address: a truncated copy to the controller, metered by port, and on. "
            "Without the copy where nothing is to be learned.",
            goto=TableId.DESTINATION,
            actions="controller",
        ),
    ),
)
