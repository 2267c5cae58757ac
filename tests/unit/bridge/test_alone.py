"""The only port that is up is open at once: there is no other that it could relay to."""

from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, Effect, SendFrame
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortParams as StpPortParams
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.bridge.stp.bpdu import encode
from tests.unit.bridge.stp.lab import rst

BETTER_ROOT = encode(rst(), 0x0200_0000_AAAA)
DISCARDING, FORWARDING = PortState.DISCARDING, PortState.FORWARDING


def port(number: int, up: bool = True) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


def make(*numbers: int, **ports: StpPortParams) -> Bridge:
    """Ports of these numbers are up, and LOCAL."""
    own = {name: PortParams(stp=params) for name, params in ports.items()}
    bridge = Bridge(1, BridgeParams(stp=StpParams(), ports=own))
    bridge.set_ports([*map(port, numbers), Port(LOCAL_PORT, "br0", 0x0200000000FE, True)], 0.0)
    return bridge


def states(bridge: Bridge) -> dict[int, PortState]:
    return {number: state for number, state in bridge.relay.states.items() if number != LOCAL_PORT}


def shown(bridge: Bridge, number: int = 1) -> tuple[PortState, str]:
    status = bridge.stp.status(0.0)
    assert status is not None
    return next((own.state, own.reason) for own in status.ports if own.port == number)


def test_it_is_open_at_once_and_says_why() -> None:
    bridge = make(1)
    assert states(bridge) == {1: FORWARDING}
    assert bridge.relay.flood_ports == {1, LOCAL_PORT}
    assert shown(bridge) == (FORWARDING, "no other port is up that it could relay to")
    assert bridge.stp.states() == {1: FORWARDING}


def test_a_new_port_may_come_with_the_loss_of_the_only_one() -> None:
    bridge = make(1)
    bridge.put_ports([port(2), port(1, up=False)], 1.0)
    assert states(bridge) == {2: FORWARDING}


def test_several_ports_wait_as_ever() -> None:
    assert states(make(1, 2)) == {1: DISCARDING, 2: DISCARDING}


def test_it_stays_open_while_its_timers_run_and_is_an_edge_in_the_end() -> None:
    bridge = make(1)
    for second in range(1, 40):
        effects = bridge.tick(float(second))
        assert SetPortState(1, DISCARDING) not in effects
        assert states(bridge) == {1: FORWARDING}
    assert bridge.stp.is_edge(1)
    assert shown(bridge) == (FORWARDING, "edge port")
    bridge.put_port(port(2), 50.0)
    assert states(bridge) == {1: FORWARDING, 2: DISCARDING}


def test_it_closes_before_a_second_port_is_heard_of() -> None:
    bridge = make(1)
    effects: list[Effect] = bridge.put_port(port(2), 1.0)
    assert states(bridge) == {1: DISCARDING, 2: DISCARDING}
    kinds = [
        "closed"
        if effect == SetPortState(1, DISCARDING)
        else "waits"
        if isinstance(effect, Barrier)
        else "says"
        for effect in effects
        if isinstance(effect, Barrier | SendFrame) or effect == SetPortState(1, DISCARDING)
    ]
    assert kinds[:3] == ["closed", "waits", "says"]
    events = [effect for effect in effects if isinstance(effect, Event)]
    assert ("stp.state", 1) in [(event.kind, event.port) for event in events]


def test_a_port_outside_the_tree_is_another_port() -> None:
    bridge = make(1, 2, p2=StpPortParams(enabled=False))
    assert states(bridge) == {1: DISCARDING, 2: FORWARDING}


@pytest.mark.parametrize("how", ["down", "gone"])
def test_one_that_is_left_over_opens_at_once(how: str) -> None:
    bridge = make(1, 2)
    if how == "down":
        bridge.put_port(port(2, up=False), 1.0)
    else:
        bridge.remove_port(2, 1.0)
    assert states(bridge) == {1: FORWARDING}
    bridge.put_port(port(1, up=False), 2.0)
    assert states(bridge) == {}
    bridge.put_port(port(2), 3.0)
    assert states(bridge) == {2: FORWARDING}
    bridge.remove_port(2, 4.0)
    assert states(bridge) == {}


def test_a_guard_closes_it_and_its_release_opens_it() -> None:
    bridge = make(1, p1=StpPortParams(bpdu_guard=True))
    assert states(bridge) == {1: FORWARDING}
    bridge.hear("bpdu", [(1, BETTER_ROOT)], 1.0)
    assert states(bridge)[1] is DISCARDING
    bridge.carry_out(bridge.stp.recover(1, 2.0), 2.0)
    assert states(bridge) == {1: FORWARDING}


def test_a_bridge_behind_it_makes_it_the_root_port_of_the_tree() -> None:
    bridge = make(1)
    effects = bridge.hear("bpdu", [(1, BETTER_ROOT)], 1.0)
    assert SetPortState(1, DISCARDING) not in effects
    assert states(bridge) == {1: FORWARDING}
    bridge.tick(2.0)
    bridge.put_port(port(2), 3.0)
    assert states(bridge) == {1: FORWARDING, 2: DISCARDING}


def test_after_a_restart_one_of_which_the_others_are_gone_is_open() -> None:
    before = make(1, 2, 3)
    bridge = Bridge(1, BridgeParams(stp=StpParams()))
    dump: Any = before.stp.dump()
    bridge.stp.restore(dump)
    bridge.set_ports([port(2), Port(LOCAL_PORT, "br0", 0x0200000000FE, True)], 1.0)
    assert states(bridge) == {2: FORWARDING}
    assert bridge.relay.flood_ports == {2, LOCAL_PORT}


def test_a_restart_finds_it_as_it_was() -> None:
    before = make(1)
    dump: Any = before.stp.dump()
    bridge = Bridge(1, BridgeParams(stp=StpParams()))
    bridge.stp.restore(dump)
    assert bridge.stp.states() == {1: FORWARDING}
    local = Port(LOCAL_PORT, "br0", 0x0200000000FE, True)
    bridge.set_ports([port(1), port(2), local], 1.0)
    assert states(bridge) == {1: DISCARDING, 2: DISCARDING}
