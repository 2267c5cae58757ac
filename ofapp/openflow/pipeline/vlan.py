"""VLAN classification of the frames of ports that have VLANs configured."""

from collections.abc import Iterator

from ofapp.bridge.ports.vlan import NO_VLAN, blocks
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    PRIORITY_TAGGED,
    UNTAGGED,
    Flow,
    Match,
    PushTag,
    SetVid,
    in_port,
    tagged,
)
from ofapp.openflow.model.rule import ONWARD, TableId, rule
from ofapp.openflow.pipeline.mark import set_pcp
from ofapp.openflow.pipeline.nested import DROP_NESTED, TAGS
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "untagged",
        100,
        "in_port vlan_vid",
        Feature.VLAN,
        "Without a tag: the port's own VLAN (PVID), with the port's priority.",
        ONWARD,
        "vlan address",
    ),
    rule(
        "priority-tagged",
        110,
        "in_port vlan_vid",
        Feature.VLAN,
        "A priority tag (VID 0): the port's own VLAN (PVID), too. A second tag that the switch "
        "reads is a reason to drop, as in the next rule.",
        ONWARD,
        "vlan clone",
    ),
    rule(
        "tagged-twice",
        120,
        "eth_type vlan_vid",
        Feature.VLAN,
        "A tag with VID 0, and behind it another one, of either kind: drop. Where the VLAN "
        "leaves a port untagged, the next bridge would take the frame for one of the inner "
        "tag's VLAN.",
    ),
    rule(
        "tagged",
        90,
        "in_port vlan_vid",
        Feature.VLAN,
        "A VLAN, or an aligned block of VLANs, that the port is a member of.",
        ONWARD,
    ),
    rule(
        "not-member",
        0,
        "",
        Feature.VLAN,
        "Ingress filtering (802.1Q-2018 8.6.2): drop.",
    ),
)


_FILTERS = (
    Flow(TableId.VLAN, 0, (), Feature.VLAN),
    *(
        Flow(TableId.VLAN, 120, (PRIORITY_TAGGED, Match("eth_type", kind)), Feature.VLAN)
        for kind in sorted(TAGS)
    ),
)
"""The flows that drop what no port with VLANs admits."""


def vlan_flows(ingress: Ingress) -> Iterator[Flow]:
    """The flows that classify the frames of a port with VLANs."""
    port, goto = ingress.port, ingress.onward
    table, vlans, here = TableId.VLAN, port.vlans, in_port(port.number)
    if vlans.pvid != NO_VLAN:
        priority = (set_pcp(port.policy.priority),) if port.policy.priority else ()
        push, classify = (PushTag(vlans.pvid), *priority), (DROP_NESTED, SetVid(vlans.pvid))
        yield Flow(table, 100, (here, UNTAGGED), Feature.VLAN, push, goto)
        yield Flow(table, 110, (here, PRIORITY_TAGGED), Feature.VLAN, classify, goto)
    if vlans.tagged:
        for vid, mask in blocks(vlans.vids or frozenset()):
            yield Flow(table, 90, (here, tagged(vid, mask)), Feature.VLAN, (), goto)


VLAN = Table(
    TableId.VLAN,
    "vlan",
    "Which VLAN a frame is in (802.1Q-2018 6.9): from here on it carries that VLAN's tag. "
    "Only frames of ports with VLANs configured come here.",
    _RULES,
    flows=lambda desired, _metered: _FILTERS if desired.port_policies.aware else (),
    port_flows=vlan_flows,
    passes=lambda port, _metered: not port.vlans.transparent,
)
