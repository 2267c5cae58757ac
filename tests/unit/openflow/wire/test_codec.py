"""What is put together by hand is what os-ken makes of the same flow."""

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from os_ken.ofproto import ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import Params
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.openflow.model.flow import (
    BackOut,
    Flow,
    Forwarding,
    Group,
    Match,
    Output,
    PopTag,
    PushTag,
    Resubmit,
    SetRegister,
    SetVid,
    ToGroup,
)
from ofapp.openflow.model.rule import Register
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.switch.program import program
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.oxm import oxms
from tests.unit.openflow.guarded import guarded

_OS_KEN = ofproto_protocol.ProtocolDesc(version=ofp.OFP_VERSION)


def snooping() -> Bridge:
    made = Bridge(1, BridgeParams(stp=StpParams(), multicast=Params()))
    made.set_ports([Port(n, f"p{n}", 9, True) for n in (LOCAL_PORT, 1, 2)], 0.0)
    return made


def parsed(message: bytes) -> parser.OFPFlowMod:
    made = parser.OFPFlowMod.parser(_OS_KEN, *header(message), bytearray(message))
    made.xid = 0
    return made


def header(message: bytes) -> tuple[int, int, int, int]:
    return message[0], message[1], int.from_bytes(message[2:4], "big"), 0


def test_flow_mods_read_back_and_written_by_os_ken_are_the_same() -> None:
    for bridge in (snooping(), guarded()):
        for flow in program(bridge.desired(), False, GroupNumbers()).flows.values():
            for message in (codec.add_flow(flow), codec.delete_flow(flow)):
                again = parsed(message)
                assert codec.serialize(again) == message, flow


def test_fields_come_after_what_they_presuppose() -> None:
    matches = (Match("ip_frag", 0, 1), Match("ipv4_dst", 5), Match("eth_type", 0x0800))
    one, other = (codec.add_flow(Flow(0, 1, some, 1)) for some in (matches, matches[::-1]))
    assert one == other
    fields = [oxm for oxm, _ in oxms(one[52 : 48 + int.from_bytes(one[50:52], "big")])]
    assert [oxm >> 9 & 0x7F for oxm in fields] == [5, 12, 26]  # eth_type, ipv4_dst, ip_frag


def test_group_mods_are_os_kens() -> None:
    for group in program(snooping().desired(), True, GroupNumbers()).groups.values():
        message = codec.put_group(group, exists=True)
        buckets, at = [], 16
        while at < len(message):
            bucket = parser.OFPBucket.parser(message, at)
            buckets.append(bucket)
            at += bucket.len
        made = parser.OFPGroupMod(_OS_KEN, ofp.OFPGC_MODIFY, ofp.OFPGT_ALL, group.id, buckets)
        assert codec.serialize(made) == message


@pytest.mark.parametrize(
    "action",
    [
        *(Output(1), BackOut(), PushTag(7), SetVid(7), PopTag()),
        *(SetRegister(Register.EGRESS, 1), Resubmit(90), ToGroup(5)),
    ],
)
def test_a_group_knows_how_much_of_a_message_it_takes(action: Forwarding) -> None:
    group = Group(1, frozenset({(action,), (action, Output(2))}))
    assert len(codec.put_group(group, exists=False)) == 16 + group.octets
