"""BPDUs on the wire."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ofapp.bridge.stp import BridgeParams, Link, PortParams, SpanningTree
from ofapp.bridge.stp.bpdu import Bpdu, BpduError, BpduRole, BpduType, decode, encode
from ofapp.bridge.stp.vectors import PriorityVector, Times
from tests.unit.bridge.stp.lab import BETTER, TCN, config, rst

HEADER = "0180c200000002000000aaaa"
# Written by hand from clause 9.3, not by the encoder.
RST_HEX = (
    HEADER + "0027424203000002027e100002000000000100000000100002000000000180010100140002000f0000"
)
CONFIG_HEX = (
    HEADER + "00264242030000000081100002000000000100004e20800002000000005080020180140002000f00"
)
TCN_HEX = HEADER + "000742420300000080"


def frame(text: str) -> bytes:
    return bytes.fromhex(text).ljust(60, b"\0")


def test_rst_bpdu_is_laid_out_as_in_9_3_3() -> None:
    bpdu = rst(
        times=Times(1, 20, 15, 2),
        proposal=True,
        learning=True,
        forwarding=True,
        agreement=True,
    )
    assert encode(bpdu, 0x0200_0000_AAAA) == frame(RST_HEX)
    assert decode(frame(RST_HEX)) == bpdu


def test_configuration_bpdu_is_laid_out_as_in_9_3_1() -> None:
    bpdu = Bpdu(
        BpduType.CONFIG,
        PriorityVector(BETTER, 20000, 0x8000_0200_0000_0050, 0x8002),
        Times(1.5, 20, 15, 2),
        topology_change=True,
        topology_change_ack=True,
    )
    assert encode(bpdu, 0x0200_0000_AAAA) == frame(CONFIG_HEX)
    assert decode(frame(CONFIG_HEX)) == bpdu


def test_tcn_bpdu_has_four_octets() -> None:
    assert encode(TCN, 0x0200_0000_AAAA) == frame(TCN_HEX)
    assert decode(frame(TCN_HEX)) == TCN


def test_mstp_frame_is_read_as_an_rst_bpdu() -> None:
    body = bytearray(frame(RST_HEX)[14:53]) + bytes(66)
    body[5] = 3
    mstp = frame(HEADER)[:12] + len(body).to_bytes(2, "big") + body
    bpdu = decode(mstp)
    assert (bpdu.type, bpdu.version, bpdu.role) == (BpduType.RST, 3, BpduRole.DESIGNATED)
    assert bpdu.vector.root == BETTER


def test_rst_bpdu_of_unknown_role_is_a_configuration_bpdu() -> None:
    octets = bytearray(frame(RST_HEX))
    octets[21] = 0x73  # every RSTP flag, role 0
    bpdu = decode(bytes(octets))
    assert (bpdu.type, bpdu.role) == (BpduType.CONFIG, BpduRole.DESIGNATED)
    assert bpdu.flags() == ["topology_change"]


def changed(text: str, **octets: str) -> bytes:
    data = bytearray(frame(text))
    for at, value in octets.items():
        start = int(at[1:])
        data[start : start + len(value) // 2] = bytes.fromhex(value)
    return bytes(data)


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"", "truncated"),
        (frame(RST_HEX)[:16], "truncated"),
        (frame(RST_HEX)[:52], "truncated"),
        (changed(RST_HEX, _0="0180c200000e"), "not-bpdu"),
        (changed(RST_HEX, _12="88cc"), "not-bpdu"),
        (changed(RST_HEX, _14="aaaa03"), "not-bpdu"),
        (changed(RST_HEX, _12="0006"), "too-short"),
        (changed(RST_HEX, _12="0026"), "too-short"),
        (changed(CONFIG_HEX, _12="0025"), "too-short"),
        (changed(RST_HEX, _17="0001"), "protocol-id"),
        (changed(RST_HEX, _20="03"), "unknown-type"),
        (changed(RST_HEX, _19="00"), "unknown-type"),
        (changed(CONFIG_HEX, _44="1400"), "message-age"),
    ],
)
def test_bad_bpdus_are_refused_with_a_reason(octets: bytes, reason: str) -> None:
    with pytest.raises(BpduError) as refused:
        decode(octets)
    assert refused.value.reason == reason


def test_old_rst_bpdu_is_let_through_because_it_makes_its_port_forget() -> None:
    assert decode(changed(RST_HEX, _44="1400")).times.message_age == 20


ticks = st.integers(0, 0xFFFF).map(lambda n: n / 256)


@given(
    st.builds(
        Bpdu,
        type=st.just(BpduType.RST),
        vector=st.builds(
            PriorityVector,
            st.integers(0, 2**64 - 1),
            st.integers(0, 2**32 - 1),
            st.integers(0, 2**64 - 1),
            st.integers(0, 2**16 - 1),
        ),
        times=st.builds(Times, ticks, ticks, ticks, ticks),
        role=st.sampled_from([r for r in BpduRole if r is not BpduRole.UNKNOWN]),
        topology_change=st.booleans(),
        proposal=st.booleans(),
        learning=st.booleans(),
        forwarding=st.booleans(),
        agreement=st.booleans(),
        version=st.just(2),
    )
)
def test_what_is_encoded_is_decoded(bpdu: Bpdu) -> None:
    assert decode(encode(bpdu, 1)) == bpdu
    assert str(bpdu).startswith("RST")


@given(
    st.lists(
        st.binary(max_size=80)
        | st.binary(max_size=70).map(lambda b: frame(RST_HEX)[:17] + b)
        | st.binary(min_size=35, max_size=60).map(lambda b: frame(RST_HEX)[:21] + b),
        max_size=8,
    )
)
@example([frame(RST_HEX)])
def test_no_frame_whatever_upsets_a_bridge(frames: list[bytes]) -> None:
    tree = SpanningTree(BridgeParams(), 0x0200_0000_0050)
    for port in (1, 2):
        tree.add_port(port, PortParams(), Link(True), 0)
    now = 0.0
    for octets in frames:
        now += 0.3
        tree.receive(1, octets, now)
        tree.receive(7, octets, now)
        tree.tick(now + 0.1)
    status = tree.port(1)
    # a BPDU of the port itself is among the drops
    assert sum(status.received.values()) + sum(status.drops.values()) == len(frames)
    tree.tick(now + 2000)
    tree.tick(now + 4000)
    assert tree.snapshot().root == tree.snapshot().bridge_id


def test_description_is_json_ready() -> None:
    assert TCN.describe() == {"type": "TCN", "version": 0}
    assert str(TCN) == "TCN"
    described = config(cost=7, topology_change=True).describe()
    assert described["root"] == "1000.02:00:00:00:00:01"
    assert described["port"] == "8.001"
    assert described["flags"] == ["topology_change"]
    assert (described["root_path_cost"], described["max_age"]) == (7, 20)
