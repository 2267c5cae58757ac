"""Ports read as os-ken reads them."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.common import hub

# isort: split
from os_ken.controller.handler import CONFIG_DISPATCHER
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.ports.port import Port
from ofapp.openflow.wire.messages.portdesc import ask_ports, read_port_status, read_ports
from tests.unit.openflow.wire.test_channel import channel, message
from tests.unit.openflow.wire.test_requests import asking, outcome, part, say

BITS = st.integers(0, (1 << 32) - 1)


def port(number: int, name: bytes = b"eth0", *bits: int) -> bytes:
    return struct.pack("!I4x6s2x16s8I", number, b"\2\0\0\0\0\1", name, *(bits or bytes(8)))


CLOSED = (
    (ofp.OFPPC_NO_RECV, "receive"),
    (ofp.OFPPC_NO_FWD, "forward"),
    (ofp.OFPPC_NO_PACKET_IN, "packet-in"),
)


def _fastest(desc: Any) -> int:
    """Kbit/s of a port that is up, at a speed that has no bit."""
    down = desc.state & ofp.OFPPS_LINK_DOWN or desc.config & ofp.OFPPC_PORT_DOWN
    known = any(desc.curr >> bit & 1 for bit in range(10))
    return 0 if down or known or not desc.curr else desc.max_speed


def as_os_ken(data: bytes) -> Port:
    """By way of os-ken's object."""
    desc: Any = parser.OFPPort.parser(data, 0)
    return Port(
        desc.port_no,
        desc.name.decode("utf-8", "replace"),
        int(desc.hw_addr.replace(":", ""), 16),
        not desc.state & ofp.OFPPS_LINK_DOWN and not desc.config & ofp.OFPPC_PORT_DOWN,
        (desc.curr_speed or _fastest(desc)) // 1000,
        not desc.curr & (ofp.OFPPF_10MB_HD | ofp.OFPPF_100MB_HD | ofp.OFPPF_1GB_HD),
        bool(desc.state & ofp.OFPPS_LIVE),
        closed=tuple(name for bit, name in CLOSED if desc.config & bit),
    )


@given(number=BITS, name=st.binary(max_size=16), bits=st.lists(BITS, min_size=8, max_size=8))
def test_a_port_is_what_os_ken_reads(number: int, name: bytes, bits: list[int]) -> None:
    data = port(number, name, *bits)
    assert read_ports(data + port(7)) == [as_os_ken(data), as_os_ken(port(7))]
    status = message(ofp.OFPT_PORT_STATUS, b"\1" + bytes(7) + data)
    assert read_port_status(status) == (True, as_os_ken(data))


def test_a_speed_without_a_bit_is_at_least_the_fastest_other_one() -> None:
    """A port of 25 Gbit/s, as Open vSwitch 3.1 describes it: fibre, and 10 Gbit/s supported."""
    fibre, gigabits = 1 << 12, 10_000_000
    up = port(1, b"eth0", 0, 0, fibre, 0, 0, 0, 0, gigabits)
    down = port(1, b"eth0", 0, ofp.OFPPS_LINK_DOWN, fibre, 0, 0, 0, 0, gigabits)
    assert [read_ports(each)[0].speed_mbps for each in (up, down)] == [10_000, 0]
    assert read_ports(up)[0].full_duplex


def test_what_is_cut_short_is_none() -> None:
    with pytest.raises(ValueError, match="65 octets"):
        read_ports(port(1) + b"\0")
    with pytest.raises(ValueError, match="79 octets"):
        read_port_status(message(ofp.OFPT_PORT_STATUS, bytes(71)))


def test_ports_are_heard_where_their_list_ends() -> None:
    made, heard = channel([])
    lists: list[tuple[int, list[str]]] = []

    def note(ports: list[Port]) -> None:
        lists.append((len(heard.log), [known.name for known in ports]))

    found = asking(ask_ports, made, note)
    news = message(ofp.OFPT_PORT_STATUS, bytes(72))
    first = part(made, ofp.OFPMP_PORT_DESC, port(1, b"a"))
    say(made, news, first, part(made, ofp.OFPMP_PORT_DESC, port(2, b"b"), more=False), news)
    assert [known.name for known in outcome(found)] == ["a", "b"]
    assert lists == [(1, ["a", "b"])], "after what was said before, and before what came after"
    assert len(heard.log) == 2


def test_a_list_that_is_damaged_is_reported_to_who_asked() -> None:
    made, _ = channel([])
    found = asking(ask_ports, made)
    say(made, part(made, ofp.OFPMP_PORT_DESC, port(1)[:-1], more=False))
    assert "a malformed list of ports" in str(outcome(found))
    assert not made.dead


def test_the_handshake_ends_with_the_last_part_of_the_list() -> None:
    made, _ = channel([], state=CONFIG_DISPATCHER)
    made.id = 1
    say(made, part(made, ofp.OFPMP_PORT_DESC, port(1)))
    assert not made.introduced
    say(made, part(made, ofp.OFPMP_PORT_DESC, port(2), more=False))
    assert made.introduced
    hub.sleep(0)
