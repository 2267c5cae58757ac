"""LLDPDUs: made and read, and anything that a host may send instead (802.1AB-2016 9.2.7.7)."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ofapp.bridge.lldp import pdu
from ofapp.bridge.lldp.information import Local, System, VlanName
from ofapp.bridge.lldp.own import OUI, Doubt, OwnAgents, Sender
from ofapp.bridge.lldp.pdu import Heard, PduError
from ofapp.bridge.lldp.tlv import Type, organization, tlv
from tests.unit.bridge.lldp.lab import HEADER
from tests.unit.bridge.lldp.lab import pdu as frame

SYSTEM = System(1, 0x0200000000FF, "br0", 30, "192.0.2.1")
LOCAL = Local(1, "eth1", 0x020000000001, True, False, 7, (VlanName(7, "office"),))
AT_LEAST = HEADER + b"\x02\x07\x04\x02\x00\x00\x00\x00\xff"
END = tlv(Type.END, b"")
ADDRESS = b"\x05\x01\xc0\x00\x02\x01\x01\x00\x00\x00\x00\x00"


def read(octets: bytes) -> tuple[Heard | None, Counter[str]]:
    counters: Counter[str] = Counter()
    try:
        return pdu.decode(octets, OUI, counters), +counters
    except PduError:
        return None, +counters


def test_what_is_made_is_read() -> None:
    heard, counters = read(pdu.frame(LOCAL, pdu.encode(SYSTEM, LOCAL)))
    assert heard is not None
    assert not counters
    said = heard.information
    assert (said.ttl, said.port_description, said.system_name) == (121, "eth1", "br0")
    assert (said.addresses, said.pvid, said.vlans) == (("192.0.2.1",), 7, LOCAL.vlans)
    assert said.capabilities == said.enabled == 4


def test_a_frame_is_as_long_as_ethernet_wants_it() -> None:
    made = pdu.frame(LOCAL, pdu.shutdown(SYSTEM, LOCAL))
    assert len(made) == 60
    heard, _ = read(made)
    assert heard is not None
    assert heard.information.ttl == 0
    names = tuple(VlanName(vid, "x" * 32) for vid in range(1, 17))
    long = Local(1, "p" * 15, 1, True, False, 1, names)
    system = System(1, 1, "ä" * 200, 3600, "2001:db8::1")
    sealed = pdu.encode(system, long) + OwnAgents(b"key").seal(Sender(1, 1), b"")
    assert len(pdu.frame(long, sealed)) <= 14 + 1500


@pytest.mark.parametrize(
    "wrong",
    [
        HEADER,
        HEADER + END,
        HEADER[:12] + b"\x81\x00\x00\x00\x88\xcc" + frame()[14:],  # in a VLAN
        frame(chassis=b"\x04"),
        frame(port=b"\x05" + bytes(256)),
        HEADER + tlv(Type.PORT_ID, b"\x05e1") + tlv(Type.CHASSIS_ID, b"\x07c"),
        HEADER
        + tlv(Type.CHASSIS_ID, b"\x07c")
        + tlv(Type.PORT_ID, b"\x05e")
        + tlv(Type.TTL, b"\1"),
        frame(tlv(Type.TTL, b"\0\1")),
        frame(tlv(Type.CHASSIS_ID, b"\x07two")),
        frame()[:20],
    ],
)
def test_without_what_must_be_there_a_frame_is_discarded(wrong: bytes) -> None:
    assert read(wrong) == (None, Counter(discarded=1, errors=1))


@pytest.mark.parametrize(
    ("more", "counted"),
    [
        (tlv(Type.CAPABILITIES, b"\0"), "tlvs_discarded"),
        (tlv(Type.SYSTEM_NAME, bytes(300)), "tlvs_discarded"),
        (tlv(Type.MANAGEMENT_ADDRESS, b""), "tlvs_discarded"),
        (tlv(Type.MANAGEMENT_ADDRESS, ADDRESS[:-1]), "tlvs_discarded"),
        (tlv(Type.MANAGEMENT_ADDRESS, ADDRESS + b"\0"), "tlvs_discarded"),
        (organization(b"\x00\x80\xc2", 1, b"\0"), "tlvs_discarded"),
        (organization(b"\x00\x80\xc2", 3, b"\0\7\x09short"), "tlvs_discarded"),
        (tlv(Type.ORGANIZATION, b"\0\x80\xc2"), "tlvs_discarded"),
        (b"\x0a\xff12", "tlvs_discarded"),  # longer than the frame
        (tlv(9, b"reserved"), "tlvs_unrecognized"),
        (organization(b"\x00\x12\x0f", 1, b"of 802.3"), "tlvs_unrecognized"),
        (organization(b"\x00\x80\xc2", 99, b""), "tlvs_unrecognized"),
    ],
)
def test_another_tlv_is_discarded_by_itself(more: bytes, counted: str) -> None:
    heard, counters = read(frame(tlv(Type.PORT_DESCRIPTION, b"here"), more))
    assert heard is not None
    assert heard.information.port_description == "here"
    assert counters[counted] == 1
    assert counters["errors"] == (counted == "tlvs_discarded")


def test_the_first_of_two_counts_and_nothing_after_the_end() -> None:
    names = [tlv(Type.SYSTEM_NAME, name) for name in (b"first", b"second")]
    late = tlv(Type.PORT_DESCRIPTION, b"late")
    heard, counters = read(frame(*names) + late)
    assert heard is not None
    assert heard.information.system_name == "first"
    assert heard.information.port_description is None
    assert not counters


def test_what_is_remembered_of_one_frame_is_bounded() -> None:
    addresses = [tlv(Type.MANAGEMENT_ADDRESS, ADDRESS)] * 50
    names = [organization(b"\x00\x80\xc2", 3, bytes((0, n, 1, 65))) for n in range(50)]
    heard, _ = read(frame(*addresses, *names))
    assert heard is not None
    assert (len(heard.information.addresses), len(heard.information.vlans)) == (8, 16)


@given(st.binary(max_size=300))
@example(b"")
def test_any_octets_are_read_or_refused(octets: bytes) -> None:
    for given_ in (octets, HEADER + octets, AT_LEAST + octets):
        heard, counters = read(given_)
        if heard is None:
            assert counters["discarded"] == 1
        else:
            said = heard.information
            assert said.chassis.spoken("chassis") is not None
            assert said.port.spoken("port") is not None


@given(st.lists(st.tuples(st.integers(0, 127), st.binary(max_size=60)), max_size=20))
def test_any_tlvs_are_read_or_refused(given_: list[tuple[int, bytes]]) -> None:
    heard, counters = read(frame(*(tlv(type_, value) for type_, value in given_)))
    repeated = [type_ for type_, _ in given_ if type_ != Type.END]
    if heard is None:
        assert {1, 2, 3} & {*repeated}
    assert sum(counters[what] for what in ("tlvs_discarded", "tlvs_unrecognized")) <= len(given_)


@given(st.binary(min_size=1, max_size=40), st.integers(0, 39), st.integers(1, 255))
def test_a_seal_holds_until_an_octet_is_another(pdu_: bytes, at: int, change: int) -> None:
    own = OwnAgents(b"secret")
    sender = Sender(7, 3)
    proof = own.seal(sender, pdu_)[2:]
    assert own.recognise(proof, pdu_) == sender
    other = bytearray(pdu_)
    other[at % len(other)] ^= change
    assert own.recognise(proof, bytes(other)) is Doubt.FORGED
    assert OwnAgents(b"another").recognise(proof, pdu_) is None
    assert OwnAgents().recognise(proof, pdu_) is None
    for _ in range(3):
        own.seal(sender, b"")
        assert own.recognise(proof, pdu_) == sender
    own.seal(sender, b"")
    assert own.recognise(proof, pdu_) is Doubt.STALE
