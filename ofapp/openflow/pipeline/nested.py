"""Frames with a second VLAN tag that the switch reads, and that may not pass unseen.

Open vSwitch reads one tag by default, and more where `other_config:vlan-limit` is 0 or 2.  Then a
rule of later tables would match what is behind the second tag, which with one tag is content.  No
flow can match the second tag while the first is there.  So a copy of the frame loses its first tag
here and is looked at again.

Only the whole frame can be dropped from within a copy: by an action that Open vSwitch cannot carry
out, and for which it drops the frame, with all that it has done before.  Such an action is to take
the Ethernet header off a frame that has a tag.  A frame without a second tag goes on with its first
tag as it was, of either kind, and nothing is sent for the copy.
"""

from collections.abc import Iterable

from ofapp.bridge.desired import Desired
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    TAGGED,
    Clone,
    Decapsulate,
    Flow,
    Match,
    PopTag,
    Resubmit,
    SetRegister,
    register,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.pipeline.table import Table

TAGS = frozenset({0x8100, 0x88A8})
"""Types of the tags that the switch reads: 802.1Q's C-tag and S-tag."""

DROP_NESTED = Clone((Resubmit(TableId.NESTED),))
"""The action that drops a frame with a second tag that the switch reads."""

_ANY_TAG = Match("vlan_vid", TAGGED, TAGGED)

_RULES = (
    rule(
        "nested",
        20,
        "reg0 vlan_vid",
        Feature.VLAN,
        "There is a second tag. Open vSwitch cannot decapsulate a frame with a tag, and so drops "
        "the whole frame, of which this is a copy.",
        actions="decapsulate",
        drops=True,
    ),
    rule(
        "first",
        10,
        "reg0 vlan_vid",
        Feature.VLAN,
        "The first tag is taken off the copy; once more.",
        actions="vlan register resubmit",
    ),
    rule(
        "single",
        0,
        "",
        Feature.VLAN,
        "No second tag: the copy ends, and the frame goes on.",
        drops=False,
    ),
)


def _flows(desired: Desired, _metered: bool) -> Iterable[Flow]:
    policies = desired.port_policies
    return _FLOWS if policies.aware or policies.checked or desired.lists else ()


_FLOWS = (
    Flow(
        TableId.NESTED,
        20,
        (register(Register.EGRESS, 1), _ANY_TAG),
        Feature.VLAN,
        (Decapsulate(),),
    ),
    Flow(
        TableId.NESTED,
        10,
        (register(Register.EGRESS, 0), _ANY_TAG),
        Feature.VLAN,
        (SetRegister(Register.EGRESS, 1), PopTag(), Resubmit(TableId.NESTED)),
    ),
    Flow(TableId.NESTED, 0, (), Feature.VLAN),
)

NESTED = Table(
    TableId.NESTED,
    "nested",
    "A copy of a frame whose second tag would matter; the copy goes nowhere. `reg0` is 1 once the "
    "first tag is off.",
    _RULES,
    flows=_flows,
)
