"""Groups of more ports than one message carries, in a real switch."""

from __future__ import annotations

import pytest

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Group, Output, ToGroup
from ofapp.openflow.pipeline.chain import chained, ports_of
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from ofapp.openflow.wire.messages import bundle, codec
from tests.support import frames
from tests.support.ovs import VSwitchd
from tests.vswitchd.wire import Wire

MOST = 2046
"""Ports of a group that is one message, within a bundle."""


@pytest.mark.parametrize("ports", [MOST, MOST + 1, 4095])
def test_it_floods_to_all_of_them_and_reads_back_the_same(vswitchd: VSwitchd, ports: int) -> None:
    """Three of the ports are there; the switch takes groups with others, too."""
    bridge = vswitchd.add_bridge(ports=3)
    others = range(0xFEFF, 0xFEFF - ports + 2, -1)
    flood = Group(FLOOD_GROUP, frozenset((Output(port),) for port in (2, 3, *others)))
    groups = list(chained(flood))
    to = Flow(0, 1, (), Feature.BASE, (ToGroup(FLOOD_GROUP),))
    with Wire(bridge) as wire:
        added = [codec.put_group(group, exists=False) for group in groups]
        wire.send([bundle.wrap([*added, codec.add_flow(to)])])
        held = {
            entry.group_id: Group(entry.group_id, codec.read_buckets(entry))
            for entry in wire.groups()
        }
    assert held == {group.id: group for group in groups}
    assert ports_of(held)[FLOOD_GROUP] == flood.ports
    assert (len(held) == 1) is (ports == MOST)
    assert bridge.send(1, frames.ethernet(frames.BROADCAST, frames.host(1))) == {2, 3}
    bridge.destroy()
