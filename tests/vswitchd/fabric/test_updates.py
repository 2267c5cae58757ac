"""A fabric changes to another plan while frames are under way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import frames
from tests.vswitchd.fabric.bed import EDGES, NUMBER_B, RING, SQUARE, A, B, Bed, MakeBed, know

# isort: split
from ofapp.bridge.effects.fabric import Content, FlushRemote, PutRemote, RemoveRemote, SetFabric
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.switch.audit.comparison import Messages, flow_changes, identity
from ofapp.openflow.wire.messages.flow_stats import FlowStats

NONE: frozenset[int] = frozenset()


def versions(bed: Bed, member: int) -> set[tuple[int, int]]:
    """(table, version) of the flows that a switch has of versions."""
    found = set()
    for flow in bed.members[member].flows():
        cookie = parse_cookie(flow.cookie)
        if cookie is not None and cookie.feature is Feature.VERSION.value:
            found.add((flow.table, cookie.serial))
    return found


def remotes(flows: list[FlowStats]) -> list[FlowStats]:
    return [
        flow
        for flow in flows
        if (cookie := parse_cookie(flow.cookie)) and cookie.feature == Feature.REMOTE
    ]


def differences(bed: Bed, member: int) -> Messages:
    """What a comparison finds to do."""
    at = bed.members[member]
    wanted = at.installed.wanted(at.desired).all_flows()
    flows = [
        flow
        for flow in at.flows()
        if (cookie := parse_cookie(flow.cookie)) and cookie.feature != Feature.LEARNED
    ]
    return flow_changes(wanted, flows, fabric=at.fabric)


def test_a_switch_holds_what_it_should_before_and_after_each_step(make: MakeBed) -> None:
    bed = make(RING)
    new = plan(bed.graph.without([bed.link(1, 2)]))
    for member in bed.graph.members:
        assert not differences(bed, member)
        old = bed.members[member].fabric.content.parts[0]
        for content, left in (
            (Content({0: old, 1: new[member]}, NONE, 0), {0, 1}),
            (Content({0: old, 1: new[member]}, NONE, 1), {0, 1}),
            (Content({1: new[member]}, NONE, 1), {1}),
        ):
            bed.set_content({member: content})
            assert not differences(bed, member)
            found = versions(bed, member)
            assert {serial for table, serial in found if table == TableId.FABRIC} == left
            assert {serial for table, serial in found if table == TableId.OUTER} == {content.use}


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_no_frame_is_lost_or_doubled_while_members_change_one_by_one(
    make: MakeBed, first: int
) -> None:
    """After each step some frames are sent, and carried over one link; the rest arrives later."""
    bed = make(SQUARE)
    know(bed, 3)
    new = plan(bed.graph.without([bed.link(1, 3)]))
    old = {number: at.fabric.content.parts[0] for number, at in bed.members.items()}
    order = [*bed.graph.members[first:], *bed.graph.members[:first]]
    steps = [(at, Content({0: old[at], 1: new[at]}, NONE, 0)) for at in order]
    steps += [(at, Content({0: old[at], 1: new[at]}, NONE, 1)) for at in order]
    bed.forget()
    sent = []
    for number, (member, content) in enumerate(steps):
        for start in (1, 2, 4):
            sent.append(frames.ethernet(B, A, bytes((number, start)) * 30))
            bed.members[start].bridge.inject(11, sent[-1])
        flood = frames.ethernet(frames.BROADCAST, A, bytes((number, 99)) * 30)
        bed.members[1].bridge.inject(12, flood)
        bed.carry(1)
        bed.set_content({member: content})
    bed.carry()
    arrived = bed.arrived()
    unicast = {key: count for key, count in arrived.items() if key[2] in sent}
    assert unicast == dict.fromkeys([(3, 11, frame) for frame in sent], 1)
    floods = {key: count for key, count in arrived.items() if key[2] not in sent}
    assert set(floods.values()) == {1}
    assert len(floods) == len(steps) * (len(EDGES) * 4 - 1)
    # Frames may be under way for a second; then the old version goes.
    bed.set_content({at: Content({1: new[at]}, NONE, 1) for at in order})
    frame = frames.ethernet(B, A)
    assert bed.send(1, 11, frame) == {(3, 11, frame): 1}
    assert bed.way() in ([(1, 2), (2, 3)], [(1, 4), (4, 3)])


def test_versions_of_an_earlier_controller_stay_until_they_are_not_kept(make: MakeBed) -> None:
    bed = make(RING)
    know(bed, 3)
    at, old = bed.members[1], bed.members[1].fabric.content.parts[0]
    at.installed.forget()  # another controller, which knows of version 0 by its number only
    at.fabric = replace(at.fabric, content=Content({1: old}, frozenset({0}), None))
    at.installed.holds(at.installed.wanted(at.desired))
    at.installed.kept = frozenset({0})
    new = [flow for flow in at.installed.program.all_flows() if flow.serial == 1]
    assert {*differences(bed, 1)} == {*map(identity, new)}
    at.installed.program.flows.clear()
    at.installed.program.versions.clear()
    at.apply(SetFabric(at.fabric))
    assert versions(bed, 1) == {(TableId.FABRIC, 0), (TableId.FABRIC, 1), (TableId.OUTER, 0)}
    frame = frames.ethernet(B, A)
    assert bed.send(1, 11, frame) == {(3, 11, frame): 1}
    bed.set_content({1: Content({1: old}, frozenset({0}), 1)})
    assert versions(bed, 1) == {(TableId.FABRIC, 0), (TableId.FABRIC, 1), (TableId.OUTER, 1)}
    bed.set_content({1: Content({1: old}, NONE, 1)})
    assert versions(bed, 1) == {(TableId.FABRIC, 1), (TableId.OUTER, 1)}


def test_a_silent_member_sends_nothing_and_receives(make: MakeBed) -> None:
    bed = make(RING)
    know(bed, 3)
    at = bed.members[1]
    bed.set_content({1: replace(at.fabric.content, use=None, silent=True)})
    assert versions(bed, 1) == {(TableId.FABRIC, 0)}
    frame = frames.ethernet(B, A)
    assert not bed.send(1, 11, frame)
    assert len(bed.send(2, 11, frames.arp_request(A))) == 8
    assert bed.send(2, 11, frame) == {(3, 11, frame): 1}
    assert not differences(bed, 1)


def test_remote_hosts_stay_when_the_version_changes_and_go_when_they_are_to(
    make: MakeBed,
) -> None:
    bed = make(RING)
    at, old = bed.members[1], bed.members[1].fabric.content.parts[0]
    at.apply(PutRemote(7, NUMBER_B, 2), PutRemote(8, NUMBER_B, 2), PutRemote(8, 1, 3))
    before = {(flow.match, flow.instructions) for flow in remotes(at.flows())}
    bed.set_content({1: Content({0: old, 1: old}, NONE, 1)})
    assert {(flow.match, flow.instructions) for flow in remotes(at.flows())} == before
    assert {flow.idle_timeout for flow in remotes(at.flows())} == {300}
    at.apply(PutRemote(7, NUMBER_B, 3, moved=True), PutRemote(9, NUMBER_B, 3, moved=True))
    assert len(remotes(at.flows())) == 3  # one has changed, and none was added
    at.apply(FlushRemote(member=3))
    assert len(remotes(at.flows())) == 1
    at.apply(PutRemote(7, NUMBER_B, 3), FlushRemote(vid=8))
    assert len(remotes(at.flows())) == 1
    at.apply(RemoveRemote(8, NUMBER_B))
    assert len(remotes(at.flows())) == 1
    at.apply(RemoveRemote(7, NUMBER_B))
    assert not remotes(at.flows())
    at.apply(PutRemote(7, NUMBER_B, 3), FlushRemote())
    assert not remotes(at.flows())


def test_a_remote_host_ends_when_no_frame_uses_it(
    make: MakeBed,
) -> None:
    bed = make(RING)
    know(bed, 3)
    for _ in range(2):
        bed.send(1, 11, frames.ethernet(B, A))
        bed.switch.warp(290)
    assert len(remotes(bed.members[1].flows())) == 1
    bed.switch.warp(20)
    assert not remotes(bed.members[1].flows())
