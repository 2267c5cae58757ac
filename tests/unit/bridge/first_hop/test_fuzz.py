"""Any octets: never an exception, and what is not forwarded is counted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.first_hop.refused.claim import Claim, read_claim
from ofapp.bridge.packet.arp import Arp, read_arp
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.neighbour import Neighbour, read_neighbour
from ofapp.bridge.packet.udp import Datagram, read_udp
from tests.unit.bridge.first_hop.dhcp.snooped import GUEST, snooping
from tests.unit.bridge.first_hop.fuzzed import ANY, VALID, mutated
from tests.unit.bridge.first_hop.guarded import PARAMS, UPLINK, Guarded, guarded_bridge

KINDS = ("dhcp", "dhcp_server", "nd", "router", "answer", "refused")
MODES = ("remove", "insert", "keep")


@given(ANY)
def test_readers_take_any_octets(frame: bytes) -> None:
    assert isinstance(read_udp(frame), Datagram | Malformed)
    assert isinstance(read_arp(frame), Arp | Malformed)
    assert isinstance(read_neighbour(frame), Neighbour | Malformed)
    assert isinstance(read_claim(frame), Claim | None)


@pytest.mark.parametrize("frame", VALID)
def test_readers_take_each_beginning_of_a_frame(frame: bytes) -> None:
    for length in range(len(frame)):
        for read in (read_udp, read_arp, read_neighbour, read_claim):
            read(frame[:length])


@pytest.mark.parametrize("frame", VALID)
def test_each_beginning_of_a_message_is_forwarded_or_counted(frame: bytes) -> None:
    for mode in MODES:
        dhcp = snooping(mode)
        for length in range(len(frame)):
            before = dhcp.counters.total()
            made = dhcp.from_client(GUEST, frame[:length], 0.0).frame
            assert made is not None or dhcp.counters.total() == before + 1
            assert dhcp.from_server(frame[:length], 0.0).frame is not None


@given(ANY, st.sampled_from(MODES))
@settings(max_examples=300)
def test_a_message_is_forwarded_or_counted(frame: bytes, mode: str) -> None:
    dhcp = snooping(mode)
    for verdict in (dhcp.from_client(GUEST, frame, 0.0), dhcp.from_server(frame, 0.0)):
        if verdict.frame is None:
            assert dhcp.counters[verdict.reason]
            assert not verdict.facts
        elif verdict.frame != frame:
            assert isinstance(read_udp(verdict.frame), Datagram)
    made = dhcp.from_client(GUEST, frame, 1.0).frame
    if made is not None and mode == "remove":
        assert dhcp.from_client(GUEST, made, 2.0).frame == made, "nothing is left to remove"


def counted(bridge: Bridge) -> int:
    return bridge.first_hop.counters.total()


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from((UPLINK, 11, 12)), ANY)))
@settings(max_examples=200, deadline=None)
def test_a_bridge_takes_any_frames(heard: list[tuple[str, int, bytes]]) -> None:
    guarded = Guarded(guarded_bridge(PARAMS))
    for kind, port, frame in heard:
        before = counted(guarded.bridge)
        forwarded = guarded.hear(kind, port, frame)
        if kind in ("dhcp", "dhcp_server", "nd"):
            held = kind == "nd" and guarded.first_hop.next_wakeup() is not None
            assert forwarded or held or counted(guarded.bridge) > before, kind
        assert guarded.switch == guarded.wanted()
        guarded.wait(0.2)
    guarded.wait(5.0)
    assert guarded.switch == guarded.wanted()


@given(st.lists(st.tuples(st.sampled_from((11, 12)), mutated()), max_size=20))
@settings(deadline=None)
def test_guests_alone_bind_no_address_of_dhcp(heard: list[tuple[int, bytes]]) -> None:
    """Without a server, no frame of a guest makes a binding by DHCP."""
    guarded = Guarded(guarded_bridge(PARAMS))
    for port, frame in heard:
        guarded.hear("dhcp", port, frame)
    assert not [*guarded.first_hop.bindings()]
