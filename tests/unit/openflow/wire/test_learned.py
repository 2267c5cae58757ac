"""The fast path speaks the same OpenFlow as os-ken, and shrugs off what is malformed."""

import struct
from dataclasses import replace
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import ofapp.common.hub  # noqa: F401

# isort: split
from os_ken.lib.packet import ethernet, packet, vlan
from os_ken.ofproto import ofproto_parser, ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.effects import (
    InstallDestination,
    InstallEntry,
    RemoveDestination,
    RemoveSource,
)
from ofapp.bridge.mac import format_mac
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.model.traps import SIGHTING
from ofapp.openflow.pipeline import flows
from ofapp.openflow.switch.encode.learned import LearnedWriter
from ofapp.openflow.wire.messages import codec, flow_removed
from ofapp.openflow.wire.messages import flow_stats as statistics
from ofapp.openflow.wire.messages import packet_in as packet_ins

PROTOCOL = ofproto_protocol.ProtocolDesc(version=ofp.OFP_VERSION)
WRITER = LearnedWriter(300)

hosts = st.tuples(
    st.integers(1, 0xFF00) | st.just(LOCAL_PORT),
    st.integers(0, 4095),
    st.integers(1, (1 << 48) - 1),
    st.integers(0, (1 << 32) - 1),
)


def messages(data: bytes) -> list[bytes]:
    out = []
    while data:
        (length,) = struct.unpack_from("!H", data, 2)
        out.append(data[:4] + b"\0\0\0\0" + data[8:length])  # without the transaction id
        data = data[length:]
    return out


def test_hosts_that_fall_silent_together_expire_over_a_tenth_of_the_ageing_time() -> None:
    idle = LearnedWriter(300).idle
    assert (min(idle), max(idle)) == (300, 329)
    assert all(0 <= later - sooner <= 1 for sooner, later in pairwise(idle))
    assert set(LearnedWriter(0).idle) == {0} == set(LearnedWriter(None).idle)
    assert max(LearnedWriter(65535).idle) == 65535


@given(hosts, st.integers(0, 0xFF00))
def test_patterns_equal_what_os_ken_serialises(
    host: tuple[int, int, int, int], old_port: int
) -> None:
    port, vid, mac, serial = host
    destination, source = flows.learned_flows(port, vid, mac, serial, 300)
    written = messages(WRITER.install(InstallEntry(port, vid, mac, serial, old_port)))
    source = replace(source, idle_timeout=WRITER.idle[serial >> 3 & 31])
    assert written[:2] == [codec.add_flow(destination), codec.add_flow(source)]
    if old_port:
        _, old = flows.learned_flows(old_port, vid, mac, serial, 300)
        assert written[2:] == [codec.delete_flow(old, any_serial=True)]
    else:
        assert len(written) == 2
    for effect, expected in (
        (InstallDestination(port, vid, mac, serial), codec.add_flow(destination)),
        (RemoveDestination(vid, mac, serial), codec.delete_flow(destination)),
        (
            RemoveSource(port, vid, mac, serial),
            codec.delete_flow(replace(source, idle_timeout=300), any_serial=not serial),
        ),
    ):
        write = {
            InstallDestination: WRITER.install_destination,
            RemoveDestination: WRITER.remove_destination,
            RemoveSource: WRITER.remove_source,
        }[type(effect)]
        assert messages(write(effect)) == [expected]  # type: ignore[operator]


def packet_in(frame: bytes, **match: Any) -> bytes:
    message = parser.OFPPacketIn(
        PROTOCOL,
        ofp.OFP_NO_BUFFER,
        len(frame),
        ofp.OFPR_ACTION,
        40,
        make_cookie(SIGHTING.feature),
        parser.OFPMatch(**match),
        frame,
    )
    body = struct.pack(
        "!IHBBQ",
        message.buffer_id,
        message.total_len,
        message.reason,
        message.table_id,
        message.cookie,
    )
    oxm = bytearray()
    message.match.serialize(oxm, 0)
    body += bytes(oxm) + b"\0\0" + frame
    return struct.pack("!BBHI", ofp.OFP_VERSION, ofp.OFPT_PACKET_IN, 8 + len(body), 7) + body


def frame(source: int, vid: int | None, tpid: int = 0x8100) -> bytes:
    layers: list[Any] = [
        ethernet.ethernet(
            "ff:ff:ff:ff:ff:ff", format_mac(source), tpid if vid is not None else 0x806
        )
    ]
    if vid is not None:
        layers.append(vlan.vlan(vid=vid, pcp=5, ethertype=0x806))
    made = packet.Packet()
    for layer in layers:
        made.add_protocol(layer)
    made.serialize()
    return bytes(made.data) + bytes(46)


@given(
    st.integers(1, 0xFF00) | st.just(LOCAL_PORT),
    st.none() | st.integers(0, 4095),
    st.integers(0, (1 << 48) - 1),
    st.booleans(),
)
def test_a_packet_in_tells_port_vlan_and_source(
    port: int, vid: int | None, source: int, more_fields: bool
) -> None:
    match = {"metadata": 5} if more_fields else {}
    message = packet_in(frame(source, vid), in_port=port, **match)
    data = b"x" * 11 + message + b"y" * 40  # somewhere in a buffer
    assert packet_ins.is_miss(data, 11)
    assert packet_ins.read_miss(data, 11, len(message)) == (port, vid or 0, source)


def test_service_tags_are_tags_and_short_frames_are_no_frames() -> None:
    message = packet_in(frame(1, 9, 0x88A8), in_port=1)
    assert packet_ins.read_miss(message, 0, len(message)) == (1, 9, 1)
    for size in range(14):
        message = packet_in(frame(1, None)[:size], in_port=1)
        assert packet_ins.read_miss(message, 0, len(message)) is None
    message = packet_in(frame(1, None)[:14], in_port=1)
    assert packet_ins.read_miss(message, 0, len(message)) == (1, 0, 1)
    for size in range(14, 18):  # a tag cut short is none, as OVS sees it
        message = packet_in(frame(1, 5)[:size], in_port=1)
        assert packet_ins.read_miss(message, 0, len(message)) == (1, 0, 1)
    message = packet_in(frame(1, 5)[:18], in_port=1)
    assert packet_ins.read_miss(message, 0, len(message)) == (1, 5, 1)
    message = packet_in(frame(1, None))  # from nowhere
    assert packet_ins.read_miss(message, 0, len(message)) is None


@given(st.binary(max_size=200), st.integers(0, 200))
def test_no_bytes_make_the_readers_raise(garbage: bytes, cut: int) -> None:
    good = packet_in(frame(1, 5), in_port=1)
    for data in (garbage, good[:cut] + garbage, good[:24] + garbage):
        packet_ins.read_miss(data, 0, len(data))
        flow_removed.is_learned_notice(data, 0)
        flow_removed.read_flow_removed(data, 0, len(data))
        try:
            for held in statistics.read_flow_stats(data):
                statistics.read_half(held)
        except ValueError:
            pass


def flow_stats(message: bytes, packets: int) -> bytes:
    """A flow-mod as the entry of a flow-stats reply that tells of its flow."""
    cookie, table, idle, priority = struct.unpack_from("!8xQ8xBxH2xH", message)
    rest = message[48:]
    head = struct.pack(
        "!HBxIIHHHH4xQQQ", 48 + len(rest), table, 1, 0, priority, idle, 0, 1, cookie, packets, 0
    )
    return head + rest


@given(hosts)
def test_flow_statistics_give_both_halves_back(host: tuple[int, int, int, int]) -> None:
    port, vid, mac, serial = host
    destination, source = map(codec.add_flow, flows.learned_flows(port, vid, mac, serial, 300))
    held = list(statistics.read_flow_stats(flow_stats(destination, 3) + flow_stats(source, 4)))
    assert [flow.packets for flow in held] == [3, 4]
    assert [flow.cookie & 0xFFFFFFFF for flow in held] == [serial, serial]
    assert statistics.read_half(held[0]) == (port, vid, 0, mac)
    assert statistics.read_half(held[1]) == (port, vid, mac, 0)


def test_truncated_flow_statistics_are_an_error() -> None:
    _, source = map(codec.add_flow, flows.learned_flows(1, 0, 5, 1, 300))
    entry = flow_stats(source, 1)
    for cut in range(1, len(entry)):
        with pytest.raises(ValueError, match="flow statistics"):
            list(statistics.read_flow_stats(entry[:cut]))


@pytest.mark.parametrize(("reason", "reported"), [(0, True), (1, False), (2, False)])
def test_only_an_idle_timeout_is_news(reason: int, reported: bool) -> None:
    _, source = flows.learned_flows(3, 7, 0x0200000000AA, 99, 300)
    oxm = codec.add_flow(source)[48:-8]
    body = struct.pack("!QHBBIIHHQQ", source.cookie, 200, reason, 40, 0, 0, 300, 0, 1, 1) + oxm
    message = struct.pack("!BBHI", 4, ofp.OFPT_FLOW_REMOVED, 8 + len(body), 0) + body
    assert flow_removed.is_learned_notice(message, 0)
    expected = flow_removed.Expired(7, 0x0200000000AA, 99) if reported else None
    assert flow_removed.read_flow_removed(message, 0, len(message)) == expected


def test_os_ken_reads_what_is_written() -> None:
    data = WRITER.install(InstallEntry(5, 7, 0x0200000000AA, 9, 0))
    length = struct.unpack_from("!H", data, 2)[0]
    header = ofproto_parser.header(data)
    parsed = parser.OFPFlowMod.parser(PROTOCOL, *header, bytearray(data[:length]))
    assert parsed.match["eth_dst"] == "02:00:00:00:00:aa"
    assert parsed.match["vlan_vid"] == (7, 0xFFF)
    assert parsed.cookie == make_cookie(Feature.LEARNED, 9)
    assert parsed.instructions[0].actions[0].port == 5
