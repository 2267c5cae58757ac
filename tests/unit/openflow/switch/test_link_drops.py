"""Link ports of a fabric that drop frames as their links are not proven."""

from typing import Any

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.admission import LINK, UNPROVEN
from ofapp.openflow.switch.counters.drops import PROVING, Counters
from ofapp.openflow.wire.messages.flow_stats import FlowStats

GOTO = b"\0\1\0\x08\x66\0\0\0"


def flow(priority: int, port: int, packets: int, age: float) -> FlowStats:
    match = bytes(4) + port.to_bytes(4, "big")
    instructions = GOTO if priority == LINK else b""
    return FlowStats(TableId.ADMISSION, priority, 0, 0, 0, packets, match, instructions, 0, age)


def test_a_port_that_goes_on_dropping_is_reported_until_it_ends_or_carries() -> None:
    channel: Any = None
    bridge: Any = Bridge(1, BridgeParams())
    counters = Counters(channel, bridge)

    def look(dropped: int, *, carries: bool = False, age: float = PROVING) -> list[tuple[str, int]]:
        flows = [flow(UNPROVEN, 5, dropped, age)]
        flows += [flow(LINK, 5, 9, age)] if carries else []
        return [(event.kind, event.port) for event in counters.take_flows(flows)]  # type: ignore

    assert look(5, age=1.0) == look(6, age=PROVING - 1) == []  # the switch has just connected
    assert look(7) == []
    assert counters.drops == {"unproven": 7}
    assert look(7) == []
    assert look(9) == [("fabric.link.limited", 5)]
    assert look(12) == []
    assert look(12) == [("fabric.link.limited.cleared", 5)]
    assert look(13) == [("fabric.link.limited", 5)]
    assert look(15, carries=True) == []
