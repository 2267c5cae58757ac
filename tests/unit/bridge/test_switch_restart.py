"""A switch that has restarted and lost all its flows: addresses behind its ports are kept."""

import pytest

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    Effect,
    InstallEntry,
    LookAgain,
    RemoveDestination,
    RemoveSource,
    SendFrame,
)
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.bridge.stp.on_bridge import PORTION
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep

A, B, C = 0x02000000000A, 0x02000000000B, 0x02000000000C
LATER = 100.0


def port(number: int, up: bool = True) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


def run(bridge: Bridge, until: float) -> list[Effect]:
    effects: list[Effect] = []
    while (due := bridge.next_wakeup()) is not None and due <= until:
        effects += bridge.tick(due)
    return effects


def lose(bridge: Bridge, lost: bool = True) -> list[list[Effect]]:
    """All flows are lost at LATER, or are not what the tree believes."""
    return list(bridge.restart_stp(lost, lambda: LATER))


@pytest.fixture
def bridge() -> Bridge:
    """A on port 1, which is never an edge, B on port 2, which is; at LATER all flows are lost."""
    never = PortParams(stp=stp.PortParams(auto_edge=False))
    made = Bridge(1, BridgeParams(stp=stp.BridgeParams(), ports={"p1": never}))
    local = Port(LOCAL_PORT, "br0", 0x020000000100, True)
    made.set_ports([port(1), port(2), port(3), local], 0.0)
    run(made, 60.0)
    made.learning.learn([(1, 0, A), (2, 0, B), (LOCAL_PORT, 0, C)], 61.0)
    assert made.relay.flood_ports == {1, 2, 3, LOCAL_PORT}
    run(made, LATER)
    lose(made)
    return made


def bpdu() -> bytes:
    other = stp.SpanningTree(stp.BridgeParams(priority=61440), 0x02000000FFFF)
    effects = other.add_port(1, stp.PortParams(), stp.Link(True, 1000), 0.0)
    return next(effect.frame for effect in effects if isinstance(effect, stp.SendBpdu))


def swept(bridge: Bridge, now: float, occasion: Occasion = Occasion.ROUTINE) -> list[Effect]:
    """What a look at a switch without any learned address leads to."""
    return Sweep(bridge, int(now), occasion, now).finish(now)


def installed(effects: list[Effect]) -> set[int]:
    return {effect.mac for effect in effects if isinstance(effect, InstallEntry)}


def test_ports_begin_anew_and_addresses_are_kept(bridge: Bridge) -> None:
    assert bridge.relay.states[1] is PortState.DISCARDING
    assert (
        bridge.relay.flood_ports == bridge.flooding.ports == {2, 3, LOCAL_PORT}
    )  # an edge stays one
    assert bridge.fdb.learned == 3


def test_they_come_back_as_their_ports_open(bridge: Bridge) -> None:
    assert installed(swept(bridge, LATER + 1, Occasion.RESTARTED)) == {B, C}
    bridge.learning.lost -= bridge.learning.back()
    run(bridge, LATER + 10)
    assert installed(Sweep(bridge, 1, Occasion.ROUTINE, 0.0).finish(LATER + 10)) == set()
    assert bridge.fdb.get(0, A) is not None  # and is not taken for aged
    assert LookAgain() in run(bridge, LATER + 60)
    assert bridge.learning.back() == {1}
    assert installed(swept(bridge, LATER + 61)) == {A}


def test_those_before_a_bridge_are_forgotten(bridge: Bridge) -> None:
    """While the switch held nothing, its neighbours may have opened another way."""
    effects = bridge.hear("bpdu", [(1, bpdu())], LATER + 0.5)
    assert any(isinstance(effect, SendFrame) for effect in effects)
    assert bridge.fdb.get(0, A) is None
    assert bridge.fdb.get(0, B) is not None
    run(bridge, LATER + 60)
    assert installed(swept(bridge, LATER + 61)) == {B, C}


def test_those_of_a_port_that_is_down_are_forgotten(bridge: Bridge) -> None:
    bridge.put_port(port(2, up=False), LATER + 0.5)
    bridge.put_port(port(2), LATER + 0.6)
    run(bridge, LATER + 60)
    assert installed(swept(bridge, LATER + 61)) == {A, C}


def test_those_that_somebody_flushes_are_forgotten(bridge: Bridge) -> None:
    bridge.flush(port=2)
    run(bridge, LATER + 60)
    assert installed(swept(bridge, LATER + 61)) == {A, C}
    bridge.flush()
    assert not bridge.learning.lost


def test_one_that_has_moved_meanwhile_is_where_it_is(bridge: Bridge) -> None:
    assert installed(bridge.learning.learn([(2, 0, A)], LATER + 6)) == {A}
    assert bridge.fdb.get(0, A).port == 2  # type: ignore[union-attr]


def test_once_they_are_back_they_age_like_any_other(bridge: Bridge) -> None:
    run(bridge, LATER + 60)
    swept(bridge, LATER + 61)
    bridge.learning.lost -= bridge.learning.back()
    swept(bridge, LATER + 91)
    assert bridge.fdb.learned == 0


def test_the_time_without_the_switch_counts_against_the_ageing_time(bridge: Bridge) -> None:
    """Hosts were seen at 61; B has been learned again since."""
    bridge.learning.learn([(2, 0, B)], LATER + 60)
    run(bridge, LATER + 260)
    ready = 61.0 + bridge.params.ageing_time
    effects = swept(bridge, ready, Occasion.RESTARTED)
    assert installed(effects) == {B}
    assert (bridge.fdb.get(0, A), bridge.fdb.get(0, C)) == (None, None)


def shown(bridge: Bridge, now: float, packets: int) -> list[Effect]:
    """What a look at a switch that holds both halves of B leads to."""
    sweep = Sweep(bridge, int(now), Occasion.ROUTINE, now)
    entry = bridge.fdb.get(0, B)
    assert entry is not None
    half = HeldHalf(2, 0, B, entry.serial, packets)
    effects = sweep.source(half, now)
    effects += sweep.destination(half, now) + sweep.finish(now)
    return [effect for effect in effects if getattr(effect, "mac", None) == B]


@pytest.mark.parametrize("speaks", [False, True])
def test_an_address_that_came_back_ages_by_when_it_was_last_seen(
    bridge: Bridge, speaks: bool
) -> None:
    assert B in installed(swept(bridge, LATER + 1, Occasion.RESTARTED))
    bridge.learning.lost -= bridge.learning.back()
    due = 61.0 + bridge.params.ageing_time
    assert shown(bridge, due - 2, packets=0) == []
    assert shown(bridge, due - 1, packets=int(speaks)) == []
    effects = shown(bridge, due, packets=int(speaks))
    assert (bridge.fdb.get(0, B) is not None) is speaks
    kinds = {type(effect) for effect in effects}
    assert kinds == (set() if speaks else {RemoveSource, RemoveDestination})


@pytest.mark.parametrize("lost", [False, True])
def test_many_ports_begin_anew_by_portions_and_edges_stay_what_they_are(lost: bool) -> None:
    """So that no other task waits for all of them."""
    made = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    made.set_ports(map(port, range(1, 3 * PORTION + 1)), 0.0)
    run(made, LATER)
    portions = lose(made, lost)
    opened = [
        {e.port for e in effects if isinstance(e, SetPortState) and e.state is PortState.FORWARDING}
        for effects in portions[1:]
    ]
    assert list(map(len, opened)) == [PORTION] * 3
    assert made.flooding.ports == set().union(*opened) == set(range(1, 3 * PORTION + 1))


def test_a_port_that_goes_while_others_begin_anew_is_gone() -> None:
    made = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    made.set_ports(map(port, range(1, 2 * PORTION + 1)), 0.0)
    run(made, LATER)
    portions = made.restart_stp(True, lambda: LATER)
    next(portions)
    made.remove_port(2 * PORTION, LATER)
    for _ in portions:
        pass
    assert 2 * PORTION not in made.relay.states
    assert len(made.relay.states) == 2 * PORTION - 1
