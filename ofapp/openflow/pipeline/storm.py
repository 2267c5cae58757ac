"""Storm control: how many frames that flood a port may send.

Unknown unicast is known as such only where the destination is looked up: its flow stands there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import TO_ALL, TO_GROUP, Flow, in_port
from ofapp.openflow.model.rule import Table, TableId, rule
from ofapp.openflow.model.traps import BROADCAST, MULTICAST
from ofapp.openflow.pipeline.meters import meter_id
from ofapp.openflow.pipeline.stages import ONWARDS, stage_after

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
            ONWARDS[2:],
        ),
        rule(
            "multicast",
            110,
            "in_port eth_dst",
            Feature.STORM,
            "Multicast.",
            ONWARDS[2:],
        ),
        rule(
            "rest",
            100,
            "in_port",
            Feature.STORM,
            "Everything else.",
            ONWARDS[2:],
        ),
    ),
)


def storm_flows(port: DesiredPort, metered: bool) -> Iterator[Flow]:
    """The meters that the port's frames to groups pass, if it has such."""
    table, storm, here = TableId.STORM, port.policy.storm, in_port(port.number)
    goto = stage_after(table, port, metered)
    if goto is None:
        return
    yield Flow(table, 100, (here,), Feature.STORM, (), goto)
    meter = None if storm.broadcast is None else meter_id(port.number, BROADCAST)
    yield Flow(table, 120, (here, TO_ALL), Feature.STORM, (), goto, meter=meter)
    if storm.multicast is not None:
        meter = meter_id(port.number, MULTICAST)
        yield Flow(table, 110, (here, TO_GROUP), Feature.STORM, (), goto, meter=meter)
