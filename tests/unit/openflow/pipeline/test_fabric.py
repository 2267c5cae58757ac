"""Flows of a member of a fabric, and how they change."""

import itertools
import struct
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from types import SimpleNamespace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, HoldDown
from ofapp.bridge.effects.fabric import (
    FABRIC_PORT,
    Content,
    DesiredFabric,
    PutRemote,
    RemoveRemote,
    SetFabric,
    SetShared,
)
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy, Storm
from ofapp.bridge.ports.port import Port
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.model.flow import Flow, in_port
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.traps import PROBE
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.fabric.forwarding import Version
from ofapp.openflow.pipeline.tables import check
from ofapp.openflow.switch.encode.encoder import MANY, Encoder
from ofapp.openflow.switch.encode.fabric import version_messages
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.program import difference
from ofapp.openflow.wire.messages import bundle, codec
from tests.support.contents import wanted_flows
from tests.support.fabric import NUMBER, desired_at, graph, link_ports, policies
from tests.unit.openflow.messages import messages

RING = graph((1, 2), (2, 3), (3, 1))
PLAN = plan(RING)
NONE: frozenset[int] = frozenset()
_ADD, _DELETE, _DELETE_STRICT = 0, 3, 4


def edge(options: PortParams | None = None) -> Bridge:
    made = Bridge(1, BridgeParams(ports={"e11": options} if options else {}))
    made.set_ports([Port(port, f"e{port}", port, True) for port in (11, 12)], 0.0)
    return made


def fabric(content: Content | None = None, **more: Any) -> DesiredFabric:
    content = content or Content({0: PLAN[1]}, NONE, 0)
    links = link_ports(RING, 1)
    return DesiredFabric(NUMBER, 1, links, links, content, **more)


class Setting:
    """A member, and what its switch is believed to hold."""

    def __init__(self, of: DesiredFabric) -> None:
        self.edge, self.fabric = edge(), of
        self.installed = Installed(metered=True)
        self.installed.holds(self.wanted)
        bridge: Any = SimpleNamespace(params=self.edge.params, port_policies=policies(self.edge))
        self.encoder = Encoder(bridge, self.installed)

    @property
    def wanted(self) -> Any:
        return self.installed.wanted(desired_at(self.edge, self.fabric))

    def send(self, effect: Effect) -> list[tuple[int, int, int, int]]:
        """The flow-mods of an effect: command, table, feature and serial."""
        if isinstance(effect, SetFabric):
            self.fabric = effect.desired
        sent = []
        for whole in messages(self.encoder.encode([effect])):
            message = bundle.part(whole) if bundle.is_part(whole) else whole
            if message[1] == 14:
                (cookie,) = struct.unpack_from("!8xQ", message)
                parts = parse_cookie(cookie)
                assert parts is not None
                sent.append((message[25], message[24], parts.feature, parts.serial))
        return sent

    def set(self, content: Content) -> list[tuple[int, int, int, int]]:
        """Those of another content; the switch then holds what it should."""
        sent = self.send(SetFabric(replace(self.fabric, content=content)))
        assert len(difference(self.installed.program, self.wanted)) == 0
        return sent


def test_an_ordinary_bridge_has_none_of_these_flows() -> None:
    features = {Feature.FABRIC, Feature.VERSION, Feature.REMOTE, 0x20, 0x21}
    tables = {
        TableId.UNKNOWN,
        TableId.ENTER,
        TableId.OUTER,
        TableId.FABRIC,
        TableId.HOP,
        TableId.LEAVE,
    }
    plain = edge().desired()
    without = replace(plain, protocols={**plain.protocols, "fabric": None})
    for desired in (plain, without):
        made = [*wanted_flows(desired, True)]
        assert not features & {flow.feature for flow in made}
        assert not tables & ({flow.table for flow in made} | {flow.goto for flow in made})
    assert [*wanted_flows(plain, True)] == [*wanted_flows(without, True)]


def test_frames_enter_by_the_last_flow_of_all() -> None:
    made = [*flows.fabric_flows(fabric(), metered=True)]
    (entry,) = (flow for flow in made if check(flow).name == "outer")
    assert made[-1] is entry
    assert entry.serial == 0


def test_no_frame_with_labels_is_ever_put_into_mpls() -> None:
    """It would end Open vSwitch: a switch that is brought in line gets these flows one by one."""
    made = [(flow.table, flow.priority) for flow in flows.fabric_flows(fabric(), metered=True)]
    for table, labelled, other in ((TableId.ENTER, 100, 0), (TableId.LAG, 200, 100)):
        last = max(at for at, key in enumerate(made) if key == (table, labelled))
        assert made.count((table, labelled)) == 2
        assert last < made.index((table, other))


@pytest.mark.parametrize(("members", "most"), [(20, 130), (100, 530)])
def test_a_version_costs_three_flows_a_member_and_two_a_tree(members: int, most: int) -> None:
    cables = [(at, at % members + 1) for at in range(1, members + 1)]
    cables += [(at, (at + members // 2 - 1) % members + 1) for at in range(1, members + 1, 3)]
    shape = graph(*cables)
    content = Content({7: plan(shape)[1]}, NONE, 7)
    links = link_ports(shape, 1)
    desired = DesiredFabric(NUMBER, 1, links, links, content)
    made = [*flows.fabric_flows(desired, metered=True)]
    made += flows.version_flows(Version(NUMBER, 1, 7, content.parts[7]))
    count = Counter(check(flow).name for flow in made)
    assert count["unicast"] == 3 * (members - 1)
    assert count["tree"] == 2 * members - 1  # its own begins here, and has no detour
    assert len({flow.identity for flow in made}) == len(made) <= most
    assert len(made) - count["unicast"] - count["tree"] == 25 + 3 * len(links)


def test_versions_have_no_flow_in_common() -> None:
    one, other = (
        {flow.identity for flow in flows.version_flows(Version(NUMBER, 1, at, PLAN[1]))}
        for at in (0, 63)
    )
    assert len(one) == 11
    assert not one & other


def test_a_version_is_added_before_its_use_and_removed_after_that() -> None:
    setting = Setting(fabric())
    both = {0: PLAN[1], 1: PLAN[1]}
    sent = setting.set(Content(both, NONE, 0))
    assert sent == [(_ADD, TableId.FABRIC, Feature.VERSION, 1)] * 11
    assert setting.set(Content(both, NONE, 1)) == [(_ADD, TableId.OUTER, Feature.VERSION, 1)]
    assert setting.set(Content({1: PLAN[1]}, NONE, 1)) == [(_DELETE, 255, Feature.VERSION, 0)]
    sent = setting.set(Content({2: PLAN[1]}, NONE, 2))
    assert sent[:-2] == [(_ADD, TableId.FABRIC, Feature.VERSION, 2)] * 11
    assert sent[-2:] == [
        (_ADD, TableId.OUTER, Feature.VERSION, 2),
        (_DELETE, 255, Feature.VERSION, 1),
    ]
    assert setting.set(Content({2: PLAN[1]}, NONE, 2)) == []


def test_a_version_of_an_earlier_controller_goes_before_a_new_one_of_its_number() -> None:
    setting = Setting(fabric(Content({1: PLAN[1]}, frozenset({0, 5}), None)))
    setting.installed.kept = frozenset({0, 5})
    sent = setting.set(Content({0: PLAN[1], 1: PLAN[1]}, NONE, 1))
    assert sent[0] == (_DELETE, 255, Feature.VERSION, 0)
    assert sent[1:12] == [(_ADD, TableId.FABRIC, Feature.VERSION, 0)] * 11
    assert sent[12:] == [
        (_ADD, TableId.OUTER, Feature.VERSION, 1),
        (_DELETE, 255, Feature.VERSION, 5),
    ]


def test_a_silent_member_has_no_entry_even_of_an_earlier_controller() -> None:
    setting = Setting(fabric(Content({1: PLAN[1]}, frozenset({0}), None)))
    setting.installed.kept = frozenset({0})
    sent = setting.set(Content({1: PLAN[1]}, frozenset({0}), None, silent=True))
    assert sent == [(_DELETE, TableId.OUTER, Feature.VERSION, 0)]
    setting = Setting(fabric())
    sent = setting.set(Content({0: PLAN[1]}, NONE, None, silent=True))
    assert sent == [(_DELETE_STRICT, TableId.OUTER, Feature.VERSION, 0)]


def test_a_link_port_comes_and_goes_with_its_probes() -> None:
    setting = Setting(fabric())
    setting.send(SetFabric(replace(setting.fabric, links=(1, 2, 3), admitted=(1, 3))))
    assert len(difference(setting.installed.program, setting.wanted)) == 0
    setting.send(SetFabric(replace(setting.fabric, links=(1,), admitted=(1,))))
    assert len(difference(setting.installed.program, setting.wanted)) == 0
    known = setting.installed.program.flows.values()
    ports = {match.value for flow in known for match in flow.match if match.field == "in_port"}
    assert ports & {1, 2, 3} == {1}
    probed = {meter for meter in setting.installed.program.meters if meter >> 16 == PROBE.meter}
    assert probed == {PROBE.meter << 16 | 1}


def test_frames_to_unknown_hosts_are_copied_on_edge_ports_alone() -> None:
    storm = PortParams(policy=PortPolicy(storm=Storm(unknown_unicast=10)))
    for options in (None, storm):
        made = [*wanted_flows(desired_at(edge(options), fabric()), metered=True)]
        copies = [flow for flow in made if check(flow).name == "remote"]
        assert {flow.match[0].value for flow in copies} == {11, 12}
        misses = [flow for flow in made if _misses(flow)]
        assert {flow.goto for flow in misses} == {TableId.UNKNOWN}
        assert len(misses) == (2 if options else 1)


def _misses(flow: Flow) -> bool:
    return flow.table == TableId.DESTINATION and flow.priority in (0, 10)


def test_the_port_to_other_members_is_in_the_flood_group_and_in_no_way_back() -> None:
    setting = Setting(fabric(shared={11: (2,)}))
    (group,) = (group for group in setting.wanted.groups.values() if group.id == 1)
    assert group.ports == {11, 12, FABRIC_PORT}
    names = Counter(
        check(flow).name
        for flow in setting.wanted.flows.values()
        if flow.feature is Feature.FABRIC or flow.table == TableId.EGRESS
    )
    assert names["shared"] == names["split-horizon"] == names["returned"] == names["hairpin"] == 1


def test_what_members_send_to_an_aggregation_is_set_by_itself() -> None:
    setting = Setting(fabric(shared={11: (2,)}))

    def shared() -> set[tuple[str, int | None]]:
        flows = setting.installed.program.flows.values()
        of_lags = [flow for flow in flows if check(flow).name in ("shared", "split-horizon")]
        return {(check(flow).name, flow.match[-1].value) for flow in of_lags}

    horizon = ("split-horizon", 11 << 17)
    assert shared() == {("shared", 2), horizon}
    setting.send(SetShared(11, (1, 3)))
    setting.send(SetFabric(replace(setting.fabric, links=(1, 2))))
    assert shared() == {("shared", 1), ("shared", 3), horizon}
    setting.send(SetShared(11, None))
    assert shared() == set()


def test_an_address_that_is_held_down_here_passes_from_its_member() -> None:
    made = [*wanted_flows(desired_at(edge(), fabric()), metered=True)]
    (passes,) = [
        flow
        for flow in made
        if flow.table == TableId.SOURCE and flow.match == (in_port(FABRIC_PORT),)
    ]
    held = flows.hold_flow(HoldDown(0, 0x02000000000A, 60, FABRIC_PORT, 11))
    assert passes.priority > held.priority
    assert passes.goto == TableId.DESTINATION
    assert not passes.actions


def test_each_order_of_changes_ends_in_the_same_flows() -> None:
    contents = [
        Content({0: PLAN[1]}, NONE, 0),
        Content({0: PLAN[1], 1: PLAN[1]}, NONE, 0),
        Content({1: PLAN[1]}, NONE, 1),
        Content({1: PLAN[1]}, NONE, None, silent=True),
    ]
    for order in itertools.permutations(contents):
        setting = Setting(fabric())
        for content in order:
            setting.set(content)


@pytest.mark.parametrize("count", [1, MANY])
def test_a_remote_host_is_the_flow_that_the_pipeline_declares(count: int) -> None:
    """One by one, and in a bundle of addresses."""
    encoder = Setting(fabric()).encoder
    flow = flows.remote_flow(7, 0x02000000000B, 3, 300)
    for effect, message in (
        (PutRemote(7, 0x02000000000B, 3), codec.add_flow(flow)),
        (PutRemote(7, 0x02000000000B, 3, moved=True), codec.modify_flow(flow)),
        (RemoveRemote(7, 0x02000000000B), codec.delete_flow(flow)),
    ):
        sent = messages(encoder.encode([effect] * count))
        parts = [bundle.part(each) if bundle.is_part(each) else each for each in sent]
        assert parts.count(message) == count
        assert len(sent) == (count if count < MANY else count + 2)


def test_flows_of_a_version_are_encoded_as_any_others() -> None:
    for member, part in PLAN.items():
        version = Version(NUMBER, member, 63, part)
        made = [*flows.version_flows(version)]
        assert version_messages(version) == [codec.add_flow(flow) for flow in made]
        assert len(version) == len(made) == len({flow.identity for flow in made})
