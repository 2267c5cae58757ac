"""Relay options of DHCP through a whole bridge, with its ports' names and parameters."""

from dataclasses import replace

import pytest

from ofapp.bridge.params.params import BridgeParams
from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import Bootp, ia_na, ip, link_local, message6, option4, option6
from tests.unit.bridge.first_hop.guarded import (
    PARAMS,
    UPLINK,
    A,
    Guarded,
    address,
    guarded_bridge,
)

BRIDGE = b"0000000000000001"
OPTION = (82, option4(1, b"tap11") + option4(2, BRIDGE))
ASKED = Bootp(mac=A, kind=frames.REQUEST, options=((50, ip("10.0.0.9")),))
LEASE = ("2001:db8::9", 300)


def params(relay_options: str) -> BridgeParams:
    return replace(PARAMS, first_hop=replace(PARAMS.first_hop, relay_options=relay_options))


@pytest.fixture
def guarded() -> Guarded:
    return Guarded(guarded_bridge(params("insert")))


def test_a_server_sees_the_port_and_the_host_does_not(guarded: Guarded) -> None:
    assert guarded.hear("dhcp", 11, frames.from_client4(ASKED))
    inserted = replace(ASKED, options=(*ASKED.options, OPTION))
    assert guarded.forwarded[-1].frame == frames.from_client4(inserted)
    answer = Bootp(op=2, mac=A, xid=ASKED.xid, kind=frames.ACK, yiaddr="10.0.0.9")
    assert guarded.hear(
        "dhcp_server", UPLINK, frames.from_server4(replace(answer, options=(OPTION,)))
    )
    assert guarded.forwarded[-1].frame == frames.from_server4(answer)
    assert guarded.switch == {(11, 0, A): (address("10.0.0.9"),)}
    counters = guarded.first_hop.counters
    assert (counters["option82_inserted"], counters["option82_removed"]) == (1, 1)


@pytest.mark.parametrize(("mode", "kept"), [("remove", False), ("keep", True)])
def test_other_options_are_used_from_the_next_request(
    guarded: Guarded, mode: str, kept: bool
) -> None:
    guarded.do(guarded.bridge.set_params(params(mode), 2.0))
    sent = frames.from_client4(replace(ASKED, options=(*ASKED.options, OPTION)))
    assert guarded.hear("dhcp", 11, sent)
    assert guarded.forwarded[-1].frame == (sent if kept else frames.from_client4(ASKED))


def relay_reply(message: bytes) -> bytes:
    head = bytes((frames.RELAY_REPLY, 0)) + bytes(16) + ip(link_local(A))
    relayed = head + option6(18, BRIDGE + b":tap11") + option6(9, message)
    return frames.from_server6(A, relayed, ports=(547, 547))


def test_a_client_of_dhcpv6_is_relayed(guarded: Guarded) -> None:
    assert guarded.hear("dhcp", 11, frames.request6(A, ia_na()))
    made = guarded.forwarded[-1].frame
    assert made[62] == frames.RELAY_FORWARD
    assert BRIDGE + b":tap11" in made
    inside = message6(frames.REPLY, 1, frames.duid(A), ia_na(LEASE))
    assert guarded.hear("dhcp_server", UPLINK, relay_reply(inside))
    assert guarded.forwarded[-1].frame == frames.from_server6(A, inside)
    assert guarded.switch == {(11, 0, A): (address("2001:db8::9"),)}


def test_an_answer_that_no_client_can_take_is_dropped(guarded: Guarded) -> None:
    assert not guarded.hear("dhcp_server", UPLINK, relay_reply(b"\7"))
    assert guarded.first_hop.counters["dhcpv6_relayed"] == 1


def test_a_host_that_is_nowhere_gets_its_answer_and_no_binding(guarded: Guarded) -> None:
    """Its request is from before a restart, and no frame of it was seen since."""
    assert guarded.hear("dhcp_server", UPLINK, frames.ack(A, "10.0.0.9"))
    assert guarded.switch == {}


@pytest.mark.parametrize("learned", ["seen", "bound"])
def test_a_host_is_found_after_a_restart(guarded: Guarded, learned: str) -> None:
    if learned == "seen":
        guarded.do(guarded.bridge.teach(11, 0, A, 1.0))
    else:
        guarded.lease(11, A, "10.0.0.8")
        guarded.wait(61.0)
    assert guarded.hear("dhcp_server", UPLINK, frames.ack(A, "10.0.0.9", xid=99))
    assert guarded.owner("10.0.0.9") == ("tap11", A)
