"""Access lists become flows that decide as the lists do, and counters that keep their names."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params import acl
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import Policies, PortPolicy
from ofapp.bridge.ports.port import Port
from ofapp.openflow.model.flow import Flow, Match, Meter, Output
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.acl import (
    acl_flows,
    acl_meters,
    acl_number,
    is_rule_meter,
    rule_meter,
)
from ofapp.openflow.pipeline.tables import check
from tests.support.acl_lists import LIST, bridge_with, rules_of
from tests.support.acl_oracle import (
    Frame,
    Settings,
    decide,
    frames,
    reachable,
    rule_lists,
    seen_by_switch,
)


def flows_of(given_rules: list[Settings]) -> list[Flow]:
    """Those of the list, without the one that lets BPDUs pass."""
    bpdu, *flows = acl_flows(bridge_with(**{LIST: rules_of(given_rules)}).desired(), True)
    assert check(bpdu).name == "bpdu"
    return flows


def tcp(port: object, action: str = "allow", **more: Any) -> Settings:
    return {"match": {"tcp_dst": port}, "action": action, **more}


def deciders(flows: list[Flow], frame: Frame) -> set[int]:
    """Serials of the flows among which a switch may choose for a frame of a port with LIST."""
    fields = {**seen_by_switch(frame), "reg3": acl_number(LIST)}

    def fits(match: Match) -> bool:
        bits = -1 if match.mask is None else match.mask
        return match.field in fields and fields[match.field] & bits == match.value & bits

    fitting = [flow for flow in flows if all(map(fits, flow.match))]
    top = max(flow.priority for flow in fitting)
    return {flow.serial for flow in fitting if flow.priority == top}


class TestDecisions:
    @given(rule_lists, st.lists(frames, min_size=1, max_size=10))
    @settings(max_examples=100)
    def test_flows_decide_as_the_list_does(
        self, given_rules: list[Settings], some: list[Frame]
    ) -> None:
        kept = reachable(given_rules)
        rules, flows = rules_of(kept), flows_of(kept)
        for frame in some:
            position = decide(kept, frame)
            name = acl.IMPLICIT if position is None else rules[position].name
            assert deciders(flows, frame) == {acl.rule_number(LIST, name)}

    @given(rule_lists, st.lists(frames, min_size=1, max_size=10))
    @settings(max_examples=50)
    def test_a_rule_that_is_refused_for_never_matching_never_does(
        self, given_rules: list[Settings], some: list[Frame]
    ) -> None:
        kept = reachable(given_rules)
        for frame in some:
            whole, part = decide(given_rules, frame), decide(kept, frame)
            assert (None if whole is None else given_rules[whole]) == (
                None if part is None else kept[part]
            )

    @given(rule_lists)
    @settings(max_examples=30)
    def test_every_flow_is_declared(self, given_rules: list[Settings]) -> None:
        for flow in flows_of(reachable(given_rules)):
            assert check(flow).name == ("acl-rule" if flow.priority else acl.IMPLICIT)

    def test_what_passes_goes_on_and_the_rest_ends_here(self) -> None:
        allowed, dropped, implicit = sorted(
            flows_of([tcp(80) | {"match": {"eth_type": "arp"}}, {"action": "drop"}]),
            key=lambda flow: -flow.priority,
        )
        assert (allowed.goto, dropped.goto, implicit.goto) == (TableId.SOURCE, None, None)
        assert implicit.priority == 0
        assert allowed.match == (Match("reg3", acl_number(LIST)), Match("eth_type", 0x0806))


class TestPlaces:
    """A rule that comes or goes moves no more flows than it must, after any earlier list."""

    def changed(self, old: list[Settings], new: list[Settings]) -> int:
        before = {flow.identity: flow for flow in flows_of(old)}
        after = {flow.identity: flow for flow in flows_of(new)}
        return sum(before.get(key) != flow for key, flow in after.items()) + sum(
            key not in after for key in before
        )

    def test_a_rule_among_a_hundred_that_it_does_not_meet(self) -> None:
        rules = [tcp(port) for port in range(1, 101)]
        assert self.changed(rules, [*rules[:50], tcp(1000), *rules[50:]]) == 2  # IPv4 and IPv6
        assert self.changed(rules, [*rules[:50], *rules[51:]]) == 2

    def test_an_exception_moves_only_what_it_is_an_exception_of(self) -> None:
        rules = [
            *(tcp(port) for port in range(1, 101)),
            {"match": {"ip_proto": "tcp"}, "action": "drop"},
        ]
        assert self.changed(rules, [*rules[:50], tcp(1000), *rules[50:]]) == 2
        exception = {"match": {"tcp_dst": 7, "ip_src": "10.0.0.1"}, "action": "drop"}
        # Its own flow, and those of port 7 and of all TCP in IPv4 at their new priorities.
        assert self.changed(rules, [exception, *rules]) == 1 + 2 * 2

    def test_other_lists_do_not_matter(self) -> None:
        one, other = rules_of([tcp(80)]), rules_of([tcp(443)])
        alone = set(acl_flows(bridge_with(one=one).desired(), True))
        both = set(acl_flows(bridge_with(another=other, one=one).desired(), True))
        assert alone < both

    def test_numbers_are_those_of_the_names_for_ever(self) -> None:
        """They are in cookies and registers of switches that outlive a controller."""
        assert acl_number("guests") == 0x4D11BCB2
        assert acl.rule_number("guests", "web") == 0x3AD1E841
        assert acl_number("guests") != acl_number("guest")
        assert acl.rule_number("a", "bc") != acl.rule_number("ab", "c")
        assert is_rule_meter(rule_meter("a", "b"))
        assert not is_rule_meter(5 << 16 | 0xFFFF)


class TestActions:
    def test_a_list_that_no_port_has_is_not_there(self) -> None:
        params = BridgeParams(policies=Policies(acls={LIST: rules_of([tcp(80, rate=5)])}))
        assert list(acl_flows(Bridge(1, params).desired(), True)) == []
        assert list(acl_meters(Bridge(1, params).desired())) == []

    def test_a_port_by_number_or_pattern_has_its_list(self) -> None:
        policies = Policies(acls={LIST: rules_of([tcp(80)])})
        port = PortParams(policy=PortPolicy(acl=LIST))
        for ports in ({"ports": {"tap*": port}}, {"numbered": {7: port}}):
            params = BridgeParams(policies=policies, **ports)  # type: ignore[arg-type]
            assert len(list(acl_flows(Bridge(1, params).desired(), True))) == 4

    def test_a_rate_is_one_meter_for_all_flows_of_the_rule(self) -> None:
        bridge = bridge_with(**{LIST: rules_of([tcp("80,443", rate=50, name="web")])})
        assert list(acl_meters(bridge.desired())) == [Meter(rule_meter(LIST, "web"), 50)]
        _bpdu, implicit, *limited = acl_flows(bridge.desired(), True)
        assert {flow.meter for flow in limited} == {rule_meter(LIST, "web")}
        assert implicit.meter is None
        assert {flow.meter for flow in acl_flows(bridge.desired(), False)} == {None}

    def test_a_mirror_that_comes_goes_and_comes_elsewhere(self) -> None:
        rule = tcp(80, "drop", mirror="ids")
        bridge = bridge_with(**{LIST: rules_of([rule])})

        def copies() -> set[tuple[object, ...]]:
            return {
                flow.actions
                for flow in acl_flows(bridge.desired(), True)
                if flow.serial and flow.priority
            }

        assert copies() == {()}
        for number in (4, 9):
            bridge.set_ports([Port(number, "ids", 1, True)], 0.0)
            assert copies() == {(Output(number),)}
        bridge.set_ports([Port(4, "other", 1, True)], 0.0)
        assert copies() == {()}

    def test_counters_of_a_changed_flow_begin_anew(self) -> None:
        assert all(flow.recount for flow in flows_of([tcp(80)]))


@pytest.mark.parametrize(
    ("first", "last", "pairs"),
    [
        (0, 65535, [(0, 0)]),
        (80, 80, [(80, 0xFFFF)]),
        (1, 3, [(1, 0xFFFF), (2, 0xFFFE)]),
        (1024, 65535, [(1 << n, 0x10000 - (1 << n)) for n in range(10, 16)]),
    ],
)
def test_ranges_are_aligned_blocks(first: int, last: int, pairs: list[tuple[int, int]]) -> None:
    assert list(acl.aligned(first, last, 16)) == pairs


@given(st.integers(0, 255), st.integers(0, 255))
def test_blocks_are_the_range_and_do_not_overlap(one: int, other: int) -> None:
    first, last = min(one, other), max(one, other)
    blocks = list(acl.aligned(first, last, 8))
    covered = [n for value, mask in blocks for n in range(256) if n & mask == value]
    assert covered == list(range(first, last + 1))


def test_levels_are_the_longest_chain() -> None:
    rules = rules_of(
        [tcp(80), tcp("70-90", "drop"), tcp(443), {"match": {"ip_proto": "tcp"}, "action": "drop"}]
    )
    tops = [max(levels) for levels in acl.levels(rules)]
    assert tops == [0, 1, 0, 2]
    assert acl.levels(tuple(replace(rule, rate=7) for rule in rules)) == acl.levels(rules)
