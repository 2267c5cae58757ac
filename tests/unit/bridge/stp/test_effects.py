"""The order of effects: what blocks comes first, what announces comes last."""

from ofapp.bridge.stp import FlushPort, PortState, SendBpdu, SetPortState
from ofapp.bridge.stp.effects import in_safe_order
from tests.unit.made_event import made_event

D, L, F = PortState.DISCARDING, PortState.LEARNING, PortState.FORWARDING


def test_blocks_first_bpdus_last() -> None:
    event, bpdu = made_event("x", "x"), SendBpdu(1, b"")
    effects = [bpdu, SetPortState(1, F), event, FlushPort(3), SetPortState(2, D)]
    assert in_safe_order(effects, {1: D, 2: F}) == [
        SetPortState(2, D),
        SetPortState(1, F),
        event,
        FlushPort(3),
        bpdu,
    ]


def test_only_the_last_opening_of_a_port_is_kept() -> None:
    effects = [SetPortState(1, L), FlushPort(2), SetPortState(2, L), SetPortState(1, F)]
    assert in_safe_order(effects, {1: D, 2: D}) == [
        FlushPort(2),
        SetPortState(2, L),
        SetPortState(1, F),
    ]


def test_port_that_is_opened_and_blocked_again_stays_blocked() -> None:
    assert in_safe_order([SetPortState(1, L), SetPortState(1, D)], {1: D}) == []


def test_port_that_is_blocked_and_opened_again_is_really_blocked_between() -> None:
    effects = [SetPortState(1, D), SetPortState(1, F)]
    assert in_safe_order(effects, {1: F}) == effects
    again = [*effects, SetPortState(1, D)]
    assert in_safe_order(again, {1: F}) == [SetPortState(1, D)]


def test_new_port_is_reported_its_state_once() -> None:
    assert in_safe_order([SetPortState(1, D)], {}) == [SetPortState(1, D)]
