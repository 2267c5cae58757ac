"""A flow must be declared, and reconciliation changes only what differs."""

import dataclasses
import struct
from collections.abc import Callable
from ipaddress import ip_network

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.first_hop import params as first_hop
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.lag import LagParams
from ofapp.bridge.lldp import BridgeParams as LldpParams
from ofapp.bridge.loop_protect.params import BridgeParams as LoopParams
from ofapp.bridge.multicast import Family
from ofapp.bridge.multicast import Params as MulticastParams
from ofapp.bridge.params.acl import STATES
from ofapp.bridge.params.parameter import declared
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import (
    AclMatch,
    AclRule,
    Mirror,
    Policies,
    PortPolicy,
    Storm,
    VlanPolicy,
)
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.cookie import EXACT, Feature, make_cookie, parse_cookie
from ofapp.openflow.model.flow import Flow, Group, Match, Meter, Output, SetBits
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.trap import TrapPort
from ofapp.openflow.model.traps import BPDU, LIMITED, SNOOPED, TRAPS, trap_seconds
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.admission import takeover_flow
from ofapp.openflow.pipeline.entries import GroupNumbers, Key, key_of
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS
from ofapp.openflow.pipeline.multicast import snooping_flows
from ofapp.openflow.pipeline.owner import lease_flow, mark_flow
from ofapp.openflow.pipeline.part import Context, Part
from ofapp.openflow.pipeline.parts import part_of
from ofapp.openflow.pipeline.tables import PIPELINE, PipelineError, check
from ofapp.openflow.switch.audit import comparison
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats
from tests.support.contents import wanted_flows
from tests.support.fabric import desired_at, graph
from tests.unit.bridge.port_access.controlled import Site
from tests.unit.bridge.port_access.controlled import params as access_params
from tests.unit.openflow.guarded import guarded

GUEST = first_hop.PortParams(
    source_guard="ip",
    arp_inspection=True,
    nd_inspection=True,
    dhcp_server=False,
    router=False,
    ethertypes="ip",
)


def bridge() -> Bridge:
    made = Bridge(1, BridgeParams())
    made.add_static(7, 0x02000000000A, "p1", 0.0)
    made.add_static(7, 0x02000000000B, "absent", 0.0)
    made.set_ports(
        [Port(1, "p1", 1, True), Port(2, "p2", 2, False), Port(LOCAL_PORT, "br0", 3, True)], 0.0
    )
    return made


def mirrored() -> Bridge:
    """A bridge whose port p3 has copies of all that enters by port p1."""
    mirror = Mirror("p3", frozenset({"p1"}), frozenset())
    ports = {"p3": PortParams(policy=PortPolicy(monitor=True))}
    made = Bridge(1, BridgeParams(ports=ports, policies=Policies(mirrors=(mirror,))))
    made.set_ports([Port(number, f"p{number}", number, True) for number in (1, 3)], 0.0)
    return made


def everything() -> Bridge:
    """A bridge that uses every table, each port in its own way."""
    ports = {
        "p1": PortParams(
            vlans=access(7),
            policy=PortPolicy(isolated=True, mcast_flood=False, acl="states", rate_out=6000),
        ),
        "br0": PortParams(vlans=access(7)),
        "p2": PortParams(
            vlans=trunk(frozenset({7, 8}), native=9),
            policy=PortPolicy(
                hairpin=True,
                community=9,
                rate_in=5000,
                qos_trust="none",
                priority=5,
                flood=False,
                acl="guests",
                storm=Storm(10, 20, 30),
            ),
        ),
    }
    ports["p3"] = PortParams(policy=PortPolicy(qos_trust="pcp", priority=1))
    ports["guest"] = PortParams(first_hop=GUEST, policy=PortPolicy(isolated=True))
    lists = {
        "guests": (AclRule("arp", ((AclMatch("eth_type", 0x806),),), rate=5),),
        "states": (AclRule("known", ((STATES["established"],),)),),
    }
    lags = {"lag0": LagParams(("m1",), lacp="off"), "lag1": LagParams(("m2",))}
    policies = Policies(acls=lists, vlans={0: VlanPolicy(arp_suppress=True, nd_suppress=True)})
    params = BridgeParams(
        ports=ports,
        multicast=MulticastParams(),
        policies=policies,
        lags=lags,
        lldp=LldpParams(),
        loop_protect=LoopParams(),
    )
    made = Bridge(1, params)
    made.set_ports(
        [
            Port(1, "p1", 1, True),
            Port(2, "p2", 2, True),
            Port(3, "p3", 3, True),
            Port(4, "m1", 5, True),
            Port(5, "m2", 6, True),
            Port(6, "guest", 7, True),
            Port(LOCAL_PORT, "br0", 4, True),
        ],
        0.0,
    )
    for address in ("10.0.0.1/32", "2001:db8::1/128", "2001:db8:5::/56"):
        network = ip_network(address)
        bound = BoundAddress(network.network_address.packed, network.prefixlen)
        made.first_hop.add("guest", 0, 0x02000000000C, bound, Origin.API, 0.0)
    return made


def member_of_a_fabric() -> Desired:
    shape = graph((1, 2))
    content = Content({0: plan(shape)[1]}, frozenset(), 0)
    return desired_at(everything(), DesiredFabric(9, 1, (1,), (1,), content, {2: (4095,)}))


def controlled_flows(host_mode: str) -> list[Flow]:
    """The flows of a bridge with access control, where hosts are authorised."""
    lists = Policies(acls={"guests": (AclRule("all"),)})
    site = Site(dataclasses.replace(access_params(vlan=10, host_mode=host_mode), policies=lists))
    vlan = "20" if host_mode == "multi_auth" else ""
    site.login(answer=Answer("accept", vlan=vlan, filters=("guests",)))
    site.wait(1.0)
    return [*wanted_flows(site.bridge.desired(), True)]


def static_flow() -> Flow:
    made = bridge()
    return next(flows.static_flows(made.port_policies, next(iter(made.static_entries))))


def ports_flows(bridge: Bridge, number: int, state: PortState, hello_time: float = 0) -> list[Flow]:
    """Those of one port in a state."""
    port = dataclasses.replace(bridge.desired_port(number, state), hello_time=hello_time)
    return [*flows.port_flows(port, False)]


def hold(message: bytes) -> FlowStats:
    """The flow of a flow-mod as a switch reports it."""
    cookie, table, idle, priority, flags = struct.unpack_from("!8xQ8xBxH2xH12xH", message)
    rest = message[48:]
    head = struct.pack(
        "!HBxIIHHHH4xQQQ", 48 + len(rest), table, 0, 0, priority, idle, 0, flags, cookie, 0, 0
    )
    (held,) = read_flow_stats(head + rest)
    return held


class TestTraps:
    @pytest.mark.parametrize(("hello", "seconds"), [(1.0, 2), (2.0, 4)])
    def test_a_trap_ends_before_a_neighbour_gives_up_on_the_loop(
        self, hello: float, seconds: int
    ) -> None:
        """3 hellos until a neighbour forgets us, 3 s until its auto-edge opens what it blocked;
        it must hear itself through us between: it speaks every 2 s and we were late by 1 s."""
        made = Bridge(1, BridgeParams(stp=StpParams(hello_time=hello)))
        made.set_ports([Port(1, "p1", 1, True), Port(LOCAL_PORT, "br0", 3, True)], 0.0)
        assert trap_seconds(made.desired_port(1).hello_time) == seconds
        assert seconds + 1 <= (3 - 1) * hello + 3 - 2
        assert trap_seconds(made.desired_port(LOCAL_PORT).hello_time) == 0
        traps = [f for f in wanted_flows(made.desired(), True) if f.feature == BPDU.feature]
        assert [flow.hard_timeout for flow in traps] == [seconds]
        assert [*Encoder(made, Installed(True)).renewals()] == [codec.add_flow(traps[0])]

    def test_without_spanning_tree_nothing_is_trapped(self) -> None:
        made = bridge()
        assert trap_seconds(made.desired_port(1).hello_time) == 0
        assert [*Encoder(made, Installed(True)).renewals()] == []


class TestNumbers:
    def test_no_number_that_switches_keep_is_given_twice(self) -> None:
        features = [*Feature, *(trap.feature for trap in TRAPS)]
        assert len(features) == len(set(features))
        meters = [kind.meter for kind in {*TRAPS, *LIMITED}]
        assert len(meters) == len(set(meters))
        tables = [table.id for table in PIPELINE]
        assert tables == sorted(set(tables))


class TestEgress:
    @pytest.mark.parametrize(
        "name", [name for name, one in declared(PortPolicy).items() if one.leaving]
    )
    def test_an_option_that_is_obeyed_where_frames_leave_has_them_checked(self, name: str) -> None:
        policy = dataclasses.replace(PortPolicy(), **{name: not getattr(PortPolicy(), name)})
        made = Bridge(1, BridgeParams(ports={"p1": PortParams(policy=policy)}))
        made.set_ports([Port(1, "p1", 1, True)], 0.0)
        tables = {flow.table for flow in wanted_flows(made.desired(), True)}
        assert TableId.EGRESS in tables

    def test_no_other_option_costs_the_egress_table(self) -> None:
        policy = PortPolicy(learning=False, locked=True, sticky=True, acl="x", storm=Storm(1, 2, 3))
        made = Bridge(1, BridgeParams(ports={"p1": PortParams(policy=policy)}))
        made.set_ports([Port(1, "p1", 1, True)], 0.0)
        tables = {flow.table for flow in wanted_flows(made.desired(), True)}
        assert TableId.EGRESS not in tables


class TestDeclaration:
    def test_every_flow_of_a_bridge_is_declared(self) -> None:
        used = {(flow.table, check(flow).name) for flow in wanted_flows(bridge().desired(), True)}
        used |= {(flow.table, check(flow).name) for flow in flows.learned_flows(1, 0, 5, 1, 300)}
        group4, group6, source4, source6 = (
            bytes([239, 1, 1, 1]),
            b"\xff" + bytes(14) + b"\x09",
            bytes([10, 0, 0, 1]),
            b"\xfe\x80" + bytes(13) + b"\x01",
        )
        keys = [Key(7, family, None, None) for family in Family]
        keys += [key_of(7, group4, source) for source in (None, source4)]
        keys += [key_of(7, group6, source) for source in (None, source6)]
        keys.append(key_of(7, bytes.fromhex("010001c0ffee"), None))
        others = [
            *ports_flows(bridge(), 1, PortState.FORWARDING, 1),
            *ports_flows(bridge(), 1, PortState.LEARNING),
            *snooping_flows(),
            flows.trap_flow(SNOOPED, TrapPort(1), True),
            *wanted_flows(everything().desired(), True),
            *wanted_flows(guarded().desired(), True),
            *wanted_flows(mirrored().desired(), True),
            *controlled_flows("multi"),
            *controlled_flows("multi_auth"),
            *flows.learned_flows(1, 0, 5, 1, None),
            *ports_flows(everything(), 1, PortState.LEARNING),
            *Installed(metered=True).wanted(member_of_a_fabric()).all_flows(),
            flows.remote_flow(1, 2, 3, 0),
            lease_flow(77, 0),
            mark_flow(1),
            takeover_flow(2.0),
        ]
        others += [flows.entry_flow(key, ENTRY_GROUPS) for key in keys]
        used |= {(flow.table, check(flow).name) for flow in others}
        assert used == {(table.id, rule.name) for table in PIPELINE for rule in table.rules}

    @pytest.mark.parametrize(
        "change",
        [
            {"priority": 77},
            {"match": (Match("eth_dst", 5),)},
            {"feature": Feature.BASE},
            {"goto": TableId.ADMISSION},
            {"goto": None},
            {"actions": (Output(1),)},
            {"table": TableId.DESTINATION},
        ],
    )
    def test_what_is_not_declared_is_refused(self, change: dict[str, object]) -> None:
        _, source = flows.learned_flows(1, 0, 5, 1, 300)
        with pytest.raises(PipelineError):
            check(dataclasses.replace(source, **change))

    def test_ports_without_rates_and_priorities_have_no_flows_for_them(self) -> None:
        made = Bridge(1, BridgeParams(ports={"p1": PortParams(vlans=access(7))}))
        made.set_ports([Port(number, f"p{number}", number, True) for number in (1, 2)], 0.0)
        plain = [*wanted_flows(made.desired(), True)]
        assert not {flow.table for flow in plain} & {TableId.MARK, TableId.RATE}
        assert not any(isinstance(action, SetBits) for flow in plain for action in flow.actions)
        rates = PortParams(vlans=access(7), policy=PortPolicy(rate_in=1000, rate_out=1000))
        made.set_params(BridgeParams(ports={"p1": rates}), 0.0)
        without_meters = {flow.table for flow in wanted_flows(made.desired(), False)}
        assert TableId.RATE not in without_meters

    def test_rules_lead_onwards_only(self) -> None:
        for table in PIPELINE:
            for rule in table.rules:
                assert all(goto is None or goto > table.id for goto in rule.goto)

    def test_each_table_says_what_happens_to_a_miss(self) -> None:
        """But those that nothing enters unless its port has a flow there."""
        misses = {table.id for table in PIPELINE if any(rule.priority == 0 for rule in table.rules)}
        assert misses == {table.id for table in PIPELINE} - {
            TableId.ACCESS,
            TableId.MARK,
            TableId.SOURCE,
            TableId.SNOOP,
            TableId.STORM,
            TableId.TRAPS,
            TableId.LAG,
            TableId.OWNER,
        }

    def test_cookies_are_reported_apart(self) -> None:
        assert parse_cookie(make_cookie(Feature.LEARNED, 5)) == (Feature.LEARNED, 1, 5)
        assert parse_cookie(0x1234) is None


class TestReconcile:
    @pytest.mark.parametrize("metered", [True, False])
    def test_a_switch_in_line_is_left_alone(self, metered: bool) -> None:
        desired = list(wanted_flows(bridge().desired(), metered))
        held = [hold(codec.add_flow(flow)) for flow in desired]
        assert comparison.flow_changes(desired, held) == {}

    def test_a_field_order_of_its_own_is_no_difference(self) -> None:
        (wanted,) = (
            flow
            for flow in wanted_flows(bridge().desired(), True)
            if check(flow).name == "bpdu-pass" and flow.match[0].value == 1
        )
        held = hold(codec.add_flow(wanted))
        turned = held._replace(match=held.match[8:] + held.match[:8])
        assert comparison.flow_changes([wanted], [turned]) == {}

    def test_what_is_missing_is_added_before_what_is_superfluous_goes(self) -> None:
        desired = list(wanted_flows(bridge().desired(), True))
        stale = hold(codec.add_flow(ports_flows(bridge(), 9, PortState.FORWARDING)[0]))
        held = [hold(codec.add_flow(flow)) for flow in desired[1:]]
        added, removed = comparison.flow_changes(desired, [*held, stale]).values()
        assert added == codec.add_flow(desired[0])
        assert removed == codec.delete_flow(ports_flows(bridge(), 9, PortState.FORWARDING)[0])

    @pytest.mark.parametrize(
        "difference",
        [
            {"cookie": make_cookie(Feature.PORT, 3)},
            {"idle_timeout": 9},
            {"flags": 0},
            {"instructions": b""},
        ],
    )
    def test_what_differs_is_put_right(self, difference: dict[str, object]) -> None:
        (wanted, *_) = ports_flows(bridge(), 1, PortState.FORWARDING)
        held = hold(codec.add_flow(wanted))._replace(**difference)  # type: ignore[arg-type]
        changes = comparison.flow_changes([wanted], [held])
        assert list(changes.values()) == [codec.add_flow(wanted)]

    def test_flows_of_others_are_left_alone(self) -> None:
        foreign = hold(codec.add_flow(Flow(0, 5, (), Feature.BASE)))._replace(cookie=0x1234)
        assert comparison.flow_changes([], [foreign]) == {}

    def test_a_flow_known_from_the_switch_is_deleted_exactly(self) -> None:
        message = codec.add_flow(static_flow())
        held = hold(message)
        deletion = codec.delete_raw(held.table, held.priority, held.match, held.cookie)
        cookie, mask = struct.unpack_from("!8xQQ", deletion)
        assert (cookie, mask) == (held.cookie, EXACT)
        assert deletion[52 : 52 + len(held.match)] == held.match

    def test_groups_and_meters_change_when_they_differ(self) -> None:
        group = Group(1, frozenset({(Output(1),), (Output(2),)}))
        fewer = Group(1, frozenset({(Output(1),)}))
        assert comparison.changed({1: group}, {1: group}) == []
        assert comparison.changed({1: group}, {1: fewer}) == [group]
        assert comparison.changed({1: group}, {}) == [group]
        meter = Meter(4, 1000)
        assert comparison.changed({4: meter}, {4: meter}) == []
        assert comparison.changed({4: meter}, {4: Meter(4, 10)}) == [meter]


def test_equal_ports_of_two_bridges_have_the_same_flows_made_once() -> None:
    ports = [made.desired_port(1, PortState.FORWARDING) for made in (bridge(), bridge())]
    assert _part(ports[0]) is _part(ports[1])
    elsewhere = dataclasses.replace(ports[0], copies=(9,))
    assert _part(elsewhere) != _part(ports[0])


def _part(port: DesiredPort) -> Part:
    context = Context(bridge().port_policies, True, GroupNumbers())
    return part_of(port, context)[1]


@pytest.mark.parametrize("make", [bridge, everything, guarded])
def test_the_base_is_the_same_in_all_states_of_ports(make: Callable[[], Bridge]) -> None:
    """A port may open without any other change."""
    made = make()
    base = {*flows.base_flows(made.desired(), True)}
    there = made.lags.physical(made.ports)
    made.put_ports([dataclasses.replace(port, up=False) for port in there], 1.0)
    assert not made.desired().ports
    assert {*flows.base_flows(made.desired(), True)} == base
