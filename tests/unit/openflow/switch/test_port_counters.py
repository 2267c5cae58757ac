"""What a switch has counted at its ports: asked once, in slices where there are many."""

import struct
import time
from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lag import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.common import hub

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.bridge.ports.port import PortCount
from ofapp.openflow.switch.counters import ports as port_counters
from ofapp.openflow.switch.counters.ports import AT_ONCE, SLICE, PortCounters, read_port_stats
from ofapp.openflow.wire.echoes import Unreplied
from tests.support.waiting import wait_for
from tests.unit.openflow.wire.test_channel import channel
from tests.unit.openflow.wire.test_requests import part, say

_NOT_COUNTED = (1 << 64) - 1


def stats(number: int, *counts: int) -> bytes:
    """What a switch says of a port: eight counts, then those that are not read, then its age."""
    return struct.pack("!I4x12QII", number, *counts, *[0] * (12 - len(counts)), 7, 0)


def test_counters_are_read_in_their_order() -> None:
    data = stats(1, 10, 20, 1000, 2000, 1, 2, 3, 4) + stats(0xFFFFFFFE, *[_NOT_COUNTED] * 8)
    assert read_port_stats(data) == {
        1: PortCount(10, 20, 1000, 2000, 1, 2, 3, 4),
        0xFFFFFFFE: PortCount(*[None] * 8),
    }
    with pytest.raises(ValueError, match="octets"):
        read_port_stats(data[:-1])


def counters(ports: int, *members: str) -> tuple[Any, PortCounters]:
    """members: ports that are one aggregation's."""
    made, _ = channel([])
    lags = {"lag0": LagParams(members, "off")} if members else {}
    bridge = Bridge(1, BridgeParams(lags=lags))
    bridge.set_ports(
        [Port(number, f"p{number}", number, True) for number in range(1, ports + 1)], 0
    )
    return made, PortCounters(made, bridge)


def asked(made: Any, sent: list[bytes]) -> list[int]:
    """The ports that the switch has been asked for since."""
    hub.sleep(0)
    found = [int.from_bytes(message[16:20], "big") for message in sent]
    sent.clear()
    return found


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is said to the switch."""
    found: list[bytes] = []
    monkeypatch.setattr(
        "ofapp.openflow.wire.channel.Channel.send", lambda _, data: found.append(bytes(data))
    )
    return found


def test_one_answer_serves_all_who_ask_at_about_the_same_time(sent: list[bytes]) -> None:
    made, of = counters(2)
    of.ask()
    of.ask()
    assert asked(made, sent) == [ofp.OFPP_ANY]
    say(made, part(made, ofp.OFPMP_PORT_STATS, stats(1, 5) + stats(2, 6), more=False))
    of.wait(1)
    assert {number: count.rx_frames for number, count in of.latest.items()} == {1: 5, 2: 6}
    of.ask()
    assert asked(made, sent) == []
    of.at = time.monotonic() - port_counters.FRESH
    of.ask()
    assert asked(made, sent) == [ofp.OFPP_ANY]


def test_what_is_known_from_shortly_before_serves_who_would_have_to_wait(sent: list[bytes]) -> None:
    _, of = counters(2)

    def waits() -> float:
        begin = time.monotonic()
        of.ask()
        of.wait(1.5)
        return time.monotonic() - begin

    of.at = time.monotonic() - 2
    assert waits() < 1
    of.at = time.monotonic() - port_counters.RECENT
    assert waits() > 1


def test_an_aggregation_has_counted_what_its_members_have(sent: list[bytes]) -> None:
    made, of = counters(3, "p1", "p3")
    of.ask()
    asked(made, sent)
    counts = stats(1, 5, 1) + stats(2, 6) + stats(3, 7, _NOT_COUNTED)
    say(made, part(made, ofp.OFPMP_PORT_STATS, counts, more=False))
    of.wait(1)
    assert of.latest[4095][:2] == (12, None)


@pytest.mark.parametrize("members", [(), ("p1", "p100")])
def test_many_ports_are_asked_for_in_slices(sent: list[bytes], members: tuple[str, ...]) -> None:
    made, of = counters(AT_ONCE + 2, *members)
    of.ask()
    requested: list[int] = []
    while slice_ := asked(made, sent):
        assert len(slice_) <= SLICE
        first = made.xid - len(slice_) + 1
        for at, number in enumerate(slice_):
            made.xid = first + at
            say(made, part(made, ofp.OFPMP_PORT_STATS, stats(number, number), more=False))
        requested += slice_
        wait_for(lambda: sent or AT_ONCE + 2 in of.latest, "the next slice", sleep=hub.sleep)
    assert sorted(requested) == [*range(1, AT_ONCE + 3)]
    assert of.latest[AT_ONCE + 1].rx_frames == AT_ONCE + 1


def test_a_switch_that_says_nonsense_leaves_what_was_known(sent: list[bytes]) -> None:
    made, of = counters(2)
    of.latest = {1: PortCount(*[1] * 8)}
    of.ask()
    assert asked(made, sent) == [ofp.OFPP_ANY]
    say(made, part(made, ofp.OFPMP_PORT_STATS, b"short", more=False))
    of.wait(1)
    assert of.latest[1].rx_frames == 1
    assert of.at is None


def test_the_round_trip_of_echoes() -> None:
    echoes = Unreplied()
    assert echoes.round_trip is None
    echoes.append(7)
    echoes.remove(7)
    assert echoes.round_trip is not None
    assert 0 <= echoes.round_trip < 5
    with pytest.raises(ValueError, match="list"):
        echoes.remove(8)
