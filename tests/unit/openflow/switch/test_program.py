"""What a switch should hold as one value, and the smallest change from one to another."""

import struct

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Reprogram, SetFlood
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP, PORT_GROUPS, VLAN_GROUPS
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.program import Program, difference, program
from ofapp.openflow.wire.messages import bundle
from tests.unit.openflow.messages import messages

PORTS = {
    "p1": PortParams(vlans=access(10)),
    "p2": PortParams(vlans=access(20)),
    "p3": PortParams(vlans=trunk(frozenset({10, 20}))),
}


def bridge(**ports: PortParams) -> Bridge:
    made = Bridge(1, BridgeParams(ports={**PORTS, **ports}))
    there = [Port(number, f"p{number}", number, True) for number in (1, 2, 3)]
    made.set_ports([*there, Port(LOCAL_PORT, "br0", 9, True)], 0.0)
    return made


def held(made: Bridge) -> Program:
    return program(made.desired(), True, GroupNumbers())


def test_what_is_the_same_is_no_change() -> None:
    changes = difference(held(bridge()), held(bridge()))
    assert len(changes) == 0
    assert changes.messages() == b""
    assert changes.counts() == {"flows": 0, "groups": 0, "meters": 0}


def test_another_vlan_is_the_ports_flows_and_the_groups_of_both() -> None:
    changes = difference(held(bridge()), held(bridge(p1=PortParams(vlans=access(20)))))
    assert changes.counts() == {"flows": 2, "groups": 2, "meters": 0}
    assert {group.id for group in changes.groups.changed} <= {VLAN_GROUPS | 20, VLAN_GROUPS | 10}
    assert len(list(changes.lines())) == len(changes)


def test_a_policy_leads_through_the_ports_own_group() -> None:
    isolated = PortParams(vlans=access(10), policy=PortPolicy(isolated=True))
    changes = difference(held(bridge()), held(bridge(p1=isolated)))
    assert {group.id for group in changes.groups.changed} == {PORT_GROUPS | 1, VLAN_GROUPS | 10}
    assert not changes.flows.removed


@pytest.mark.parametrize("ports", [frozenset({1, 3}), frozenset()])
def test_what_blocks_is_written_as_it_was_then_and_not_as_it_is_now(ports: frozenset[int]) -> None:
    """The bridge may be ahead: a port that opens later is not in a set that is written before."""
    made = bridge()
    installed = Installed(metered=True)
    writer = Encoder(made, installed)
    installed.holds(held(made))
    writer.encode([SetFlood(ports)])
    flooded = (
        installed.program.groups[VLAN_GROUPS | 10].ports
        | installed.program.groups[FLOOD_GROUP].ports
    )
    assert flooded == ports & {1, 3}


def test_a_port_touches_the_flood_sets_that_it_is_in() -> None:
    made = bridge()
    installed = Installed(metered=True)
    writer = Encoder(made, installed)
    installed.holds(held(made))
    everybody = frozenset({1, 2, 3, LOCAL_PORT})
    writer.encode([SetFlood(everybody)])
    written = writer.encode([SetFlood(everybody - {1})])
    (message,) = messages(written)
    assert struct.unpack_from("!I", message, 12) == (VLAN_GROUPS | 10,)


def test_a_change_is_one_bundle() -> None:
    made = bridge()
    installed = Installed(metered=True)
    writer = Encoder(made, installed)
    installed.holds(held(made))
    made.set_params(BridgeParams(ports={**PORTS, "p1": PortParams(vlans=access(20))}), 1.0)
    sent = messages(writer.encode([Reprogram()]))
    kinds = [struct.unpack_from("!I", message, 12)[0] for message in sent]
    assert (kinds[0], kinds[-1]) == (2300, 2300)
    assert set(kinds[1:-1]) == {2301}
    numbers = {struct.unpack_from("!I", message, 16)[0] for message in sent}
    assert len(numbers) == 1
    assert writer.encode([Reprogram()]) == b""


def test_one_message_needs_no_bundle() -> None:
    assert bundle.wrap([b"one"]) == b"one"
    assert bundle.wrap([]) == b""
