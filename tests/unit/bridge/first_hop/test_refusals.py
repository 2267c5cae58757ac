"""What was refused: the last claims with what contradicts them, and events that do not flood."""

from dataclasses import replace

import pytest

from ofapp.bridge.first_hop.refused.refusals import OF_PORT
from tests.support.dhcp_frames import (
    SERVER,
    Arp,
    ack,
    ethernet,
    ipv4,
    router_advertisement,
    udp,
)
from tests.unit.bridge.first_hop.guarded import PARAMS, A, B, Guarded, guarded_bridge

X = "10.0.0.9"


@pytest.fixture
def guarded() -> Guarded:
    """A has an address on port 11."""
    guarded = Guarded(guarded_bridge())
    assert guarded.lease(11, A, X)
    return guarded


def spoofed(mac: int, text: str) -> bytes:
    return ethernet(mac, A, 0x0800, ipv4(text, "10.0.0.1", udp(text, "10.0.0.1", (9, 9), b"")))


def test_a_claim_names_the_binding_that_contradicts_it(guarded: Guarded) -> None:
    guarded.hear("refused", 12, spoofed(B, X))
    guarded.wait(1.0)
    guarded.hear("refused", 12, spoofed(B, X))
    guarded.hear("refused", 12, Arp(B, "10.0.0.7", "10.0.0.1").frame())
    arp, source = guarded.first_hop.refused()
    assert (source.port, source.mac, source.claim, source.samples) == ("tap12", B, "source", 2)
    assert (source.first, source.last, source.passed) == (1.0, 2.0, False)
    assert source.contradicts is not None
    assert (source.contradicts.port, source.contradicts.mac) == ("tap11", A)
    assert (arp.claim, arp.contradicts) == ("arp", None)
    assert guarded.kinds() == ["bindings.refused", "bindings.refused"]
    guarded.first_hop.clear_refused()
    assert not [*guarded.first_hop.refused()]


def test_a_guest_as_router_and_dhcp_server(guarded: Guarded) -> None:
    guarded.hear("refused", 12, router_advertisement(B).frame[:128])
    guarded.hear("refused", 12, ack(B, X)[:128])
    assert [each.claim for each in guarded.first_hop.refused()] == ["dhcp-server", "router"]
    assert SERVER not in {each.mac for each in guarded.first_hop.bindings()}


def test_one_event_a_minute_for_each_port_and_kind(guarded: Guarded) -> None:
    for i in range(100):
        guarded.hear("refused", 12, spoofed(B, f"10.0.1.{i}"))
        guarded.wait(0.5)
    assert guarded.kinds() == ["bindings.refused"]
    guarded.wait(10.0)
    guarded.hear("refused", 12, spoofed(B, X))
    assert guarded.kinds() == ["bindings.refused"] * 2
    assert guarded.events[-1].data["samples"] == 100
    assert guarded.first_hop.counters["refused_samples"] == 101


def test_only_the_last_claims_of_a_port_are_kept(guarded: Guarded) -> None:
    guarded.hear("refused", 13, spoofed(B, X))
    for i in range(OF_PORT + 9):
        guarded.hear("refused", 12, spoofed(B, f"10.0.1.{i}"))
    kept = [each.port for each in guarded.first_hop.refused()]
    assert (kept.count("tap12"), kept.count("tap13")) == (OF_PORT, 1)


def test_a_frame_that_is_right_by_now_is_not_reported(guarded: Guarded) -> None:
    guarded.hear("refused", 11, spoofed(A, X))
    assert guarded.kinds() == []


def test_a_port_that_only_reports_passes_what_it_reports() -> None:
    learn = replace(PARAMS, ports={"tap*": replace(PARAMS.ports["tap*"], trust="learn")})
    guarded = Guarded(guarded_bridge(learn))
    guarded.hear("refused", 12, spoofed(B, X))
    (claim,) = guarded.first_hop.refused()
    assert claim.passed
    assert guarded.events[-1].data["passed"] is True
