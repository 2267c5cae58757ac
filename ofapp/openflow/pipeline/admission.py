"""Whether a frame may enter the bridge: by its port's state, and by what kind of frame it is."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    FROM_GROUP,
    NEAREST_BRIDGE,
    TO_BRIDGES,
    Action,
    Flow,
    Match,
    Output,
    SetRegister,
    in_port,
)
from ofapp.openflow.model.rule import Register, Table, TableId, rule
from ofapp.openflow.pipeline.acl import acl_number
from ofapp.openflow.pipeline.meters import Copy, to_controller
from ofapp.openflow.pipeline.stages import ONWARDS, stages
from ofapp.openflow.pipeline.ways import through

TRAP_HELLOS = 2
"""Hello times without a controller until BPDUs pass.  A neighbour's patience lasts three
(802.1D-2004 17.21.23); three seconds after that its auto-edge may open the port that it blocked
(17.25), unless it hears itself through this bridge before.  The switch may let a flow outlive its
time by a second, and a neighbour speaks every two: three would be too many [measured]."""

_LINK_LOCAL_MASK = 0xFFFFFFFFFFF0

ADMISSION = Table(
    TableId.ADMISSION,
    "Whether a frame may enter the bridge at all.",
    (
        rule(
            "group-source",
            1000,
            "eth_src",
            Feature.BASE,
            "A group address as the source, which is never valid: drop.",
        ),
        rule(
            "zero-source",
            990,
            "eth_src",
            Feature.BASE,
            "Nor is the zero address: drop.",
        ),
        rule(
            "lacpdu",
            985,
            "in_port eth_dst eth_type",
            Feature.LACP,
            "LACP or a marker from a member of an aggregation: to the controller alone. Without "
            "one it goes nowhere: such frames are never forwarded (802.1AX-2020 6.2.7.1).",
            actions="controller",
        ),
        rule(
            "lldp",
            984,
            "in_port eth_dst eth_type",
            Feature.LLDP,
            "LLDP where it runs: to the controller alone, in every port state, and by the "
            "very port of the switch, so before a member's frames become those of its aggregation. "
            "Without LLDP the rule for the rest of 01:80:c2:00:00:0x below drops it.",
            actions="controller",
        ),
        rule(
            "member",
            980,
            "in_port",
            Feature.LAG,
            "A member that collects: from here on the frame is the logical port's, and enters "
            "once more. Frames of members that do not collect find no rule.",
            actions="in-port resubmit",
        ),
        rule(
            "bpdu",
            930,
            "in_port eth_dst",
            Feature.BPDU,
            "A BPDU on a port where spanning tree runs: to the controller alone, in every "
            "port state. The controller renews the flow; when it is gone, the flow goes too, and "
            "the next rule lets the neighbours' spanning trees see each other through this bridge.",
            actions="controller",
        ),
        rule(
            "bpdu-pass",
            920,
            "in_port eth_dst",
            Feature.PORT,
            "No spanning tree runs: a BPDU is an ordinary multicast, as on the Linux bridge.",
            ONWARDS,
            "output register resubmit",
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
            ONWARDS,
            "output register resubmit",
        ),
        rule(
            "learning",
            100,
            "in_port",
            Feature.MISS,
            "A port in state learning: a copy to the controller, as of unknown sources; drop. "
            "On a port with VLANs or an access list the copy waits until these have been asked.",
            (None, *ONWARDS[:3]),
            "controller output register resubmit",
        ),
        rule("closed", 0, "", Feature.BASE, "A port that is discarding, down or unknown: drop."),
    ),
)


def base_flows() -> Iterator[Flow]:
    """The flows of every bridge, which do not depend on its ports."""
    link_local = Match("eth_dst", TO_BRIDGES.value, _LINK_LOCAL_MASK)
    yield Flow(TableId.ADMISSION, 1000, (FROM_GROUP,), Feature.BASE)
    yield Flow(TableId.ADMISSION, 990, (Match("eth_src", 0),), Feature.BASE)
    yield Flow(TableId.ADMISSION, 900, (link_local,), Feature.BASE)
    yield Flow(TableId.ADMISSION, 0, (), Feature.BASE)


def trap_flow(port: int, seconds: int, metered: bool) -> Flow:
    """The flow that sends a port's BPDUs to the controller, for so many seconds."""
    copy = to_controller(port, Copy.BPDU, metered)
    match = (in_port(port), TO_BRIDGES)
    return Flow(TableId.ADMISSION, 930, match, Feature.BPDU, (copy,), hard_timeout=seconds)


def lldp_flow(port: int, metered: bool) -> Flow:
    """The flow that sends a port's LLDP to the controller."""
    copy = to_controller(port, Copy.LLDP, metered)
    return Flow(TableId.ADMISSION, 984, (in_port(port), *NEAREST_BRIDGE), Feature.LLDP, (copy,))


def trap_seconds(hello_time: float) -> int:
    """How long BPDUs go to the controller unless that is renewed, by the tree's hello time."""
    return round(TRAP_HELLOS * hello_time)


def admission_flows(port: DesiredPort, metered: bool) -> Iterator[Flow]:
    """The flows that admit a forwarding port's frames, or copy a learning port's sightings."""
    table, here, marks = TableId.ADMISSION, in_port(port.number), _marks(port)
    goto = stages(port, metered)[0]
    if port.forwards:
        yield Flow(table, 920, (here, TO_BRIDGES), Feature.PORT, marks, goto)
        yield Flow(table, 100, (here,), Feature.PORT, marks, goto)
    elif goto is TableId.SOURCE:
        copy = to_controller(port.number, Copy.SIGHTING, metered)
        yield Flow(table, 100, (here,), Feature.MISS, (copy,))
    else:
        yield Flow(table, 100, (here,), Feature.MISS, marks, goto)


def _marks(port: DesiredPort) -> tuple[Action, ...]:
    """Actions on every frame from the port: copies for mirrors first, then registers."""
    actions: list[Action] = [Output(to) for to in port.copies]
    actions += [action for to in port.lag_copies for action in through(to)]
    if port.policy.isolated:
        actions.append(SetRegister(Register.ISOLATED, 1))
    if port.policy.acl is not None:
        actions.append(SetRegister(Register.ACL, acl_number(port.policy.acl)))
    return tuple(actions)
