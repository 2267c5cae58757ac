"""A static aggregation whose partner sends by one member alone."""

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.switch.counters.one_sided import ENOUGH, LONG, OneSided

PORTS = [Port(n, name, n, True, 1000) for n, name in ((1, "m1"), (2, "m2"), (LOCAL_PORT, "br0"))]


def watch(lacp: str = "off") -> tuple[Bridge, OneSided]:
    lags = {"lag0": LagParams(("m1", "m2"), lacp)}  # type: ignore[arg-type]
    bridge = Bridge(7, BridgeParams(lags=lags))
    bridge.set_ports(PORTS, 0.0)
    bridge.tick(5.0)
    return bridge, OneSided(bridge)


def messages(events: list[Event], bridge: Bridge) -> list[str]:
    return [event.worded(bridge.port_at).message for event in events]


def test_it_is_reported_once_and_when_it_is_over() -> None:
    bridge, one = watch()
    assert not [*one.observe({1: 100, 2: 5}, 10.0)]
    assert not [*one.observe({1: 100 + ENOUGH, 2: 5}, 10.0 + LONG - 1)]
    (event,) = one.observe({1: 300 + ENOUGH, 2: 5}, 40.0)
    (message,) = messages([event], bridge)
    start = "port m2 (2) has received no frame for 30 s, and the other members of port lag0 (4095)"
    assert message.startswith(f"{start} {200 + ENOUGH}: a partner that is active-backup")
    assert not [*one.observe({1: 9000, 2: 5}, 70.0)]
    (event,) = one.observe({1: 9000, 2: 6}, 100.0)
    assert event.kind == "lag.one-sided.cleared"


def test_few_frames_or_both_sides_or_counts_that_began_anew_are_nothing() -> None:
    _, one = watch()
    assert not [*one.observe({1: 0, 2: 0}, 0.0)]
    assert not [*one.observe({1: ENOUGH - 1, 2: 0}, 100.0)]
    assert not [*one.observe({1: 0, 2: 0}, 200.0)]
    assert not [*one.observe({1: 2 * ENOUGH, 2: 1}, 300.0)]
    assert not [*one.observe({1: 4 * ENOUGH, 2: 2}, 400.0)]


def test_a_partner_with_lacp_says_what_it_takes() -> None:
    _, one = watch("active")
    assert not [*one.observe({1: 0, 2: 0}, 0.0)]
    assert not [*one.observe({1: 9000, 2: 0}, 100.0)]


def test_it_is_over_with_the_aggregation() -> None:
    bridge, one = watch()
    assert not [*one.observe({1: 0, 2: 0}, 0.0)]
    assert len([*one.observe({1: 9000, 2: 0}, 100.0)]) == 1
    bridge.set_params(BridgeParams(), 101.0)
    (event,) = one.observe({}, 130.0)
    assert event.kind == "lag.one-sided.cleared"
