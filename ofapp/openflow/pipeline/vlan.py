"""VLAN classification of the frames of ports that have VLANs configured."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.desired import DesiredPort
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
from ofapp.openflow.model.rule import Table, TableId, rule
from ofapp.openflow.pipeline.stages import ONWARDS, stage_after

TAGS = (0x8100, 0x88A8)
"""Types of the tags that the switch reads: 802.1Q's C-tag and S-tag."""

VLAN = Table(
    TableId.VLAN,
    "Which VLAN a frame is in (802.1Q-2018 6.9): from here on it carries that VLAN's tag. "
    "Only frames of ports with VLANs configured come here.",
    (
        rule(
            "untagged",
            100,
            "in_port vlan_vid",
            Feature.VLAN,
            "Without a tag: the port's own VLAN (PVID).",
            ONWARDS[1:],
            "vlan",
        ),
        rule(
            "priority-tagged",
            110,
            "in_port vlan_vid",
            Feature.VLAN,
            "A tag with VID 0 tells a priority and no VLAN: likewise.",
            ONWARDS[1:],
            "vlan",
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
            ONWARDS[1:],
        ),
        rule(
            "not-member",
            0,
            "",
            Feature.VLAN,
            "Ingress filtering (802.1Q-2018 8.6.2): drop.",
        ),
    ),
)


def filter_flows() -> Iterator[Flow]:
    """The flows that drop what no port with VLANs admits."""
    yield Flow(TableId.VLAN, 0, (), Feature.VLAN)
    for kind in TAGS:
        match = (PRIORITY_TAGGED, Match("eth_type", kind))
        yield Flow(TableId.VLAN, 120, match, Feature.VLAN)


def vlan_flows(port: DesiredPort, metered: bool) -> Iterator[Flow]:
    """The flows that classify the port's frames into VLANs, if it has VLANs configured."""
    table, vlans, here = TableId.VLAN, port.vlans, in_port(port.number)
    goto = stage_after(table, port, metered)
    if goto is None:
        return
    if vlans.pvid != NO_VLAN:
        push, classify = (PushTag(vlans.pvid),), (SetVid(vlans.pvid),)
        yield Flow(table, 100, (here, UNTAGGED), Feature.VLAN, push, goto)
        yield Flow(table, 110, (here, PRIORITY_TAGGED), Feature.VLAN, classify, goto)
    if vlans.tagged:
        for vid, mask in blocks(vlans.vids or frozenset()):
            yield Flow(table, 90, (here, tagged(vid, mask)), Feature.VLAN, (), goto)
