"""Groups with more ports than a message can carry."""

import struct

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import SetFlood
from ofapp.bridge.multicast import RemoveGroup, SetGroup
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.model.flow import Group, Output, PopTag, Resubmit, SetRegister
from ofapp.openflow.model.rule import Register
from ofapp.openflow.pipeline.chain import chained, parts_of, ports_of
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS, FLOOD_GROUP, VLAN_GROUPS
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.wire.messages import codec
from tests.unit.openflow.messages import messages

MOST = 2046
"""Ports that leave as they are, and fit a bundle's message."""


def plain(number: int, ports: range) -> Group:
    return Group(number, frozenset((Output(port),) for port in ports))


def delivered(groups: list[Group], number: int) -> list[int]:
    """The ports that a frame to a group leaves by, one for each copy."""
    there = {group.id: group for group in groups}
    outputs: list[int] = []
    for bucket in there[number].buckets:
        for action in bucket:
            if isinstance(action, Output):
                outputs.append(action.port)
    for part in parts_of(there[number]):
        outputs += delivered(groups, part)
    return sorted(outputs)


def test_a_group_that_fits_is_one_group() -> None:
    whole = plain(FLOOD_GROUP, range(1, MOST + 1))
    assert list(chained(whole)) == [whole]
    assert len(codec.put_group(whole, exists=False)) <= 0xFFFF - 24


@pytest.mark.parametrize("number", [FLOOD_GROUP, VLAN_GROUPS, VLAN_GROUPS | 10, ENTRY_GROUPS + 7])
@pytest.mark.parametrize("ports", [MOST + 1, 4096])
def test_a_larger_one_is_reached_through_its_parts(number: int, ports: int) -> None:
    there = range(1, ports + 1)
    made = list(chained(plain(number, there)))
    assert made[-1].id == number  # after what it leads to
    assert delivered(made, number) == list(there)
    assert ports_of({group.id: group for group in made})[number] == frozenset(there)
    assert all(len(codec.put_group(group, exists=True)) <= 0xFFFF - 24 for group in made)
    numbers = [group.id for group in made]
    assert len(set(numbers)) == len(numbers)
    assert all(number < 0xFFFFFF00 for number in numbers)  # OFPG_MAX


def test_groups_share_no_parts() -> None:
    numbers = [FLOOD_GROUP, VLAN_GROUPS, VLAN_GROUPS | 1, VLAN_GROUPS | 4094]
    numbers += [ENTRY_GROUPS, ENTRY_GROUPS + 1, ENTRY_GROUPS + (1 << 24) - 4097]
    ports = range(1, 0xFF00, 25)  # of all blocks
    parts = [parts_of([*chained(plain(n, ports))][-1]) for n in numbers]
    assert len(frozenset().union(*parts)) == sum(map(len, parts))


def test_a_part_of_any_kind_of_bucket_fits() -> None:
    marks = (SetRegister(Register.FLOODED, 1), Resubmit(90))
    asked = frozenset((SetRegister(Register.EGRESS, port), *marks) for port in range(1, 5000))
    bare = frozenset((PopTag(), Output(port)) for port in (*range(5000, 9999), LOCAL_PORT))
    for group in chained(Group(FLOOD_GROUP, asked | bare)):
        assert len(codec.put_group(group, exists=True)) <= 0xFFFF - 24


def test_one_port_more_changes_its_part_alone() -> None:
    old = {group.id: group for group in chained(plain(FLOOD_GROUP, range(2, 4000, 1)))}
    new = {group.id: group for group in chained(plain(FLOOD_GROUP, range(1, 4000, 1)))}
    assert len([number for number in new if old.get(number) != new[number]]) == 1


# Through the writer


class Managed:
    """A bridge of two ports and the encoder for its switch."""

    def __init__(self) -> None:
        self.bridge = Bridge(1, BridgeParams())
        self.bridge.set_ports([port(number) for number in (1, 2)], 0.0)
        self.installed = Installed()
        self.encode = Encoder(self.bridge, self.installed).encode


def port(number: int) -> Port:
    return Port(number, f"p{number}", number, True)


def sent(data: bytes) -> list[tuple[int, int]]:
    """(command, group) of each group-mod: 0 adds, 1 changes, 2 deletes."""
    return [
        struct.unpack_from("!H2xI", message, 8) for message in messages(data) if message[1] == 15
    ]


def flood(switch: Managed, ports: int) -> list[tuple[int, int]]:
    """Tell of that many open ports."""
    there = len(switch.bridge.ports)
    switch.bridge.put_ports([port(number) for number in range(there + 1, ports + 1)], 0.0)
    return sent(switch.encode([SetFlood(frozenset(range(1, ports + 1)))]))


def test_parts_come_before_and_go_after_what_leads_to_them() -> None:
    switch = Managed()
    assert flood(switch, 2000) == [(0, FLOOD_GROUP)]
    *parts, whole = flood(switch, 2100)
    assert whole == (1, FLOOD_GROUP)
    assert {command for command, _ in parts} == {0}
    assert len(parts) == 5
    whole, *gone = flood(switch, 2000)
    assert whole == (1, FLOOD_GROUP)
    assert sorted(gone) == sorted((2, number) for _, number in parts)
    assert switch.installed.program.groups == {FLOOD_GROUP: plain(FLOOD_GROUP, range(1, 2001))}


def test_a_multicast_entry_goes_with_its_parts() -> None:
    switch = Managed()
    members = frozenset(range(1, 3001))
    put = sent(switch.encode([SetGroup(0, b"\xef\1\1\1", None, members)]))
    assert put[-1] == (0, ENTRY_GROUPS)
    gone = sent(switch.encode([RemoveGroup(0, b"\xef\1\1\1", None)]))
    assert sorted(number for _, number in gone) == sorted(number for _, number in put)
    assert not switch.installed.program.groups


def test_a_frame_for_thousands_of_ports_is_several_messages() -> None:
    frame, ports = bytes(1500), range(1, 9001)
    outputs: list[int] = []
    for message in messages(codec.send_frame(ports, frame)):
        (length,) = struct.unpack_from("!H", message, 16)
        actions = message[24 : 24 + length]
        outputs += [struct.unpack_from("!I", actions, at + 4)[0] for at in range(0, length, 16)]
        assert message[24 + length :] == frame
    assert outputs == list(ports)


def test_a_frame_too_long_for_any_message_is_dropped() -> None:
    assert codec.send_frame([1], bytes(65_500)) == b""
