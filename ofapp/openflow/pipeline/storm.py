"""Storm control: how many frames that flood a port may send.

Unknown unicast is known as such only where the destination is looked up: its flow stands there.
"""

from collections.abc import Iterator

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import TO_ALL, TO_GROUP, Flow, in_port
from ofapp.openflow.model.rule import ONWARD, TableId, rule
from ofapp.openflow.model.traps import BROADCAST, MULTICAST
from ofapp.openflow.pipeline.meters import meter_id
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "broadcast",
        120,
        "in_port eth_dst",
        Feature.STORM,
        "Broadcasts, metered or, where only other multicast is, not.",
        ONWARD,
    ),
    rule(
        "multicast",
        110,
        "in_port eth_dst",
        Feature.STORM,
        "Multicast.",
        ONWARD,
    ),
    rule(
        "rest",
        100,
        "in_port",
        Feature.STORM,
        "Everything else.",
        ONWARD,
    ),
)


def _has_limits(port: DesiredPort, metered: bool) -> bool:
    storm = port.policy.storm
    return metered and (storm.broadcast is not None or storm.multicast is not None)


def storm_flows(ingress: Ingress) -> Iterator[Flow]:
    """The meters that a port's frames to groups pass."""
    port, goto = ingress.port, ingress.onward
    table, storm, here = TableId.STORM, port.policy.storm, in_port(port.number)
    yield Flow(table, 100, (here,), Feature.STORM, (), goto)
    meter = None if storm.broadcast is None else meter_id(port.number, BROADCAST)
    yield Flow(table, 120, (here, TO_ALL), Feature.STORM, (), goto, meter=meter)
    if storm.multicast is not None:
        meter = meter_id(port.number, MULTICAST)
        yield Flow(table, 110, (here, TO_GROUP), Feature.STORM, (), goto, meter=meter)


STORM = Table(
    TableId.STORM,
    "storm",
    "Storm control: flooded frames of a port above the rate of a meter are "
    "dropped. Unknown unicast is metered in table `destination`, which alone "
    "can detect it.",
    _RULES,
    port_flows=storm_flows,
    passes=_has_limits,
)
