"""Aggregations: how a frame of a member becomes the logical port's, and by which member it leaves.

No flow but these knows members.  Every frame to a logical port passes the egress table, which
keeps a frame from leaving by the aggregation that it came from, whichever member that was: the
switch itself only keeps it from the very port.

Open vSwitch chooses (`bundle`, by highest random weight): it leaves a member out that is not live
without asking anybody, and moves no flow but that member's.  Eight flows by the last bits of the
destination, with a basis each, add it to what is hashed: a router's frames have one source address.
"""

from collections.abc import Iterator

from ofapp.bridge.effects.content import DesiredLag
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    Choose,
    Flow,
    Match,
    Resubmit,
    SetInPort,
    in_port,
    register,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.pipeline.table import Table

MEMBER = 980
"""Priority of the flows by which members' frames enter."""

CLASSES = 8
"""Classes of destination addresses; a power of two."""

_RULES = (
    rule(
        "member",
        100,
        "reg0 eth_dst",
        Feature.LAG,
        "One of the members that distribute, by a hash of the frame: of its source (`layer2`), "
        "its IP addresses (`layer2+3`), or those and its ports (`layer3+4`), and in each case "
        "the last three bits of its destination. The switch leaves members out that are not "
        "live; in the place of one that does not distribute stands the logical port, which "
        "never is.",
        actions="choose",
    ),
    rule(
        "others",
        100,
        "reg0",
        Feature.FABRIC,
        "The port that leads to all other members of a fabric: a copy into the tree that begins "
        "here. What encapsulates stands in the clone itself: Open vSwitch makes no copy for a "
        "clone that only leads to another table, and later copies would be spoilt.",
        actions="clone",
    ),
    rule(
        "others-tagged",
        150,
        "reg0 vlan_vid",
        Feature.FABRIC,
        "The same for a frame with a VLAN tag (see table `enter`).",
        actions="clone",
    ),
    rule(
        "others-labelled",
        200,
        "reg0 eth_type",
        Feature.FABRIC,
        "The same for a frame with MPLS labels (see table `enter`).",
        actions="clone",
    ),
)


def lag_flows(lag: DesiredLag) -> Iterator[Flow]:
    """All flows of one aggregation but its traps; those of its logical port are as any port's."""
    places = tuple(member or lag.number for member in lag.members)
    for basis in range(CLASSES) if places else ():
        match = (
            register(Register.EGRESS, lag.number),
            Match("eth_dst", basis, CLASSES - 1),
        )
        choose = (Choose(places, lag.hash, basis),)
        yield Flow(TableId.LAG, 100, match, Feature.LAG, choose, serial=lag.number)
    enter = (SetInPort(lag.number), Resubmit(TableId.ADMISSION))
    for member in lag.collecting:
        here = (in_port(member),)
        yield Flow(TableId.ADMISSION, MEMBER, here, Feature.LAG, enter, serial=lag.number)


LAG = Table(
    TableId.LAG,
    "lag",
    "Choice of the member by which a frame leaves an aggregation; `reg0` is its "
    "logical port. Exists only with aggregations, and in members of a fabric.",
    _RULES,
)
