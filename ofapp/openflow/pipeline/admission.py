"""Whether a frame may enter the bridge: by its port's state, and by what kind of frame it is."""

from collections.abc import Iterator

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    FROM_GROUP,
    TO_BRIDGES,
    Action,
    Flow,
    Match,
    Output,
    Resubmit,
    SetRegister,
    in_port,
    register,
)
from ofapp.openflow.model.rule import ONWARD, Register, TableId, rule
from ofapp.openflow.model.traps import RATE_IN, SIGHTING, guarded, trap_rules, trap_seconds
from ofapp.openflow.pipeline.acl import acl_number
from ofapp.openflow.pipeline.claims import checks
from ofapp.openflow.pipeline.egress import through
from ofapp.openflow.pipeline.fabric.crossing import origin
from ofapp.openflow.pipeline.meters import meter_id, to_controller
from ofapp.openflow.pipeline.nested import DROP_NESTED
from ofapp.openflow.pipeline.table import Ingress, Table

TAKEOVER = TableId.ADMISSION, 925
"""Table and priority of the flow of a controller that takes a switch over."""
LINK, UNPROVEN = 975, 970
"""Priorities of the flows of link ports in table `admission`: one that carries frames, any."""
_MIRRORED = 987
_LINK_LOCAL = Match("eth_dst", TO_BRIDGES.value, 0xFFFFFFFFFFF0)

_RULES = (
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
        "member",
        980,
        "in_port",
        Feature.LAG,
        "A collecting member: from here on the frame is of the logical port, and "
        "enters again. Frames of members that do not collect match no rule.",
        actions="in-port resubmit",
    ),
    rule(
        "link",
        LINK,
        "in_port",
        Feature.FABRIC,
        "A port of a link that carries frames of a fabric: its frames never enter the bridge as "
        "they are.",
        TableId.FABRIC,
    ),
    rule(
        "unproven",
        UNPROVEN,
        "in_port",
        Feature.FABRIC,
        "Any other link port of a fabric: what is behind it is not proven, so drop.",
    ),
    rule(
        "mirrored",
        _MIRRORED,
        "in_port eth_dst reg4",
        Feature.PORT,
        "A frame to 01:80:c2:00:00:0x on a port with a mirror: a copy for the mirror. Then once "
        "more, as without a mirror: the frame is for the controller, or dropped.",
        actions="output register resubmit",
    ),
    rule(
        "takeover",
        TAKEOVER[1],
        "eth_dst",
        Feature.BASE,
        "The controller takes the switch over, and runs spanning tree here: BPDUs no longer pass. "
        "The flow goes when those of rule `bpdu` are there.",
    ),
    rule(
        "bpdu-pass",
        920,
        "in_port eth_dst",
        Feature.PORT,
        "No spanning tree runs: a BPDU is an ordinary multicast, as on the Linux bridge. A "
        "mirror has had its copy.",
        ONWARD,
        "register clone",
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
        "A port that forwards: its frames enter, and those above its rate are dropped. What later "
        "tables ask of the port goes with them: whether it is isolated, which access list it has, "
        "what first-hop security checks; and a mirror gets its copy. From a trunk of a guest, a "
        "frame with a second tag that the switch reads is dropped.",
        ONWARD,
        "output register resubmit clone",
    ),
    rule(
        "learning",
        100,
        "in_port",
        SIGHTING.feature,
        "A port in state learning: a copy to the controller, as for unknown "
        "sources; drop. On a port with VLANs or an access list the copy is made "
        "after these tables.",
        (None, ONWARD),
        "controller output register resubmit clone",
    ),
    rule("closed", 0, "", Feature.BASE, "A port that is discarding, down or unknown: drop."),
)

_BASE = (
    Flow(TableId.ADMISSION, 1000, (FROM_GROUP,), Feature.BASE),
    Flow(TableId.ADMISSION, 990, (Match("eth_src", 0),), Feature.BASE),
    Flow(
        TableId.ADMISSION,
        900,
        (_LINK_LOCAL,),
        Feature.BASE,
    ),
    Flow(TableId.ADMISSION, 0, (), Feature.BASE),
)
"""The flows of every bridge, which do not depend on its ports."""


def takeover_flow(hello_time: float) -> Flow:
    """The flow that keeps BPDUs from passing while a controller reads what the switch has.

    Without it a neighbour takes the root's hello, which another controller may send already, for
    that of a direct link to the root.
    """
    return Flow(
        *(*TAKEOVER, (TO_BRIDGES,), Feature.BASE),
        hard_timeout=trap_seconds(hello_time),
        notify_removal=False,
    )


def admission_flows(ingress: Ingress) -> Iterator[Flow]:
    """The flows that admit a forwarding port's frames, or copy a learning port's sightings."""
    port, goto = ingress.port, ingress.onward
    table, here = TableId.ADMISSION, in_port(port.number)
    copies, registers = _copies(port), _registers(port)
    marks = (*copies, *registers)
    if copies:
        once = (here, _LINK_LOCAL, register(Register.SAMPLED, 0))
        again = (*copies, SetRegister(Register.SAMPLED, 1), Resubmit(table))
        yield Flow(table, _MIRRORED, once, Feature.PORT, again)
    if port.forwards:
        yield Flow(table, 920, (here, TO_BRIDGES), Feature.PORT, registers, goto)
        rate = None
        if ingress.metered and port.policy.rate_in is not None:
            rate = meter_id(port.number, RATE_IN)
        yield Flow(table, 100, (here,), Feature.PORT, marks, goto, meter=rate)
    elif goto == TableId.SOURCE:
        copy = to_controller(port.number, SIGHTING, ingress.metered)
        yield Flow(table, 100, (here,), SIGHTING.feature, (copy,))
    else:
        yield Flow(table, 100, (here,), SIGHTING.feature, marks, goto)


def _copies(port: DesiredPort) -> tuple[Action, ...]:
    """Actions that send copies of a frame to mirrors."""
    lags = (action for to in port.lag_copies for action in through(to))
    return (*map(Output, port.copies), *lags)


def _registers(port: DesiredPort) -> tuple[Action, ...]:
    """Actions that store the ingress port's properties in registers, for later tables."""
    actions = [*ingress_marks(port)]
    if checked := checks(port):
        actions.append(SetRegister(Register.CHECKS, checked))
    guard = guarded(port)
    if guard and guard.refuses and not guard.report_only and port.vlans.tagged:
        actions.append(DROP_NESTED)
    return tuple(actions)


def ingress_marks(port: DesiredPort) -> Iterator[Action]:
    """Actions that store the ingress port's properties in registers, for tables from `acl` on."""
    if port.policy.restriction:
        yield SetRegister(Register.ISOLATED, port.policy.restriction)
    if port.policy.acl is not None:
        yield SetRegister(Register.ACL, acl_number(port.policy.acl))
    if port.wanted("shared"):
        yield origin(port.number)


ADMISSION = Table(
    TableId.ADMISSION,
    "admission",
    "Admission of frames to the bridge.",
    tuple(sorted((*_RULES, *trap_rules(TableId.ADMISSION)), key=lambda rule: -rule.priority)),
    flows=lambda _desired, _metered: _BASE,
    port_flows=admission_flows,
)
