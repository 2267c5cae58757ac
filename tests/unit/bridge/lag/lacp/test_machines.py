"""Every state of every machine under every condition, against tables made from the figures of
802.1AX 6.4.12 to 6.4.17: for each state its arrows, of which the first whose condition holds is
taken; arrows that begin nowhere come first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.bridge.lag.lacp.actor import Actor
from ofapp.bridge.lag.lacp.churn import churn_machine
from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.information import NO_PARTNER, Information, State, System
from ofapp.bridge.lag.lacp.mux import next_mux
from ofapp.bridge.lag.lacp.periodic import next_periodic, periodic_machine
from ofapp.bridge.lag.lacp.port import (
    EXPIRED,
    PAUSED,
    AggregationPort,
    Churn,
    ChurnDetection,
    Mux,
    Periodic,
    Receive,
    Selected,
)
from ofapp.bridge.lag.lacp.receive import next_receive, receive_machine
from ofapp.bridge.lag.lacp.slow import Lacpdu, encode_lacpdu
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.stp.params import Link

PARTNER = Information(System(1, 2), 3, 4, 5, State.ACTIVITY | State.AGGREGATION)
NOW = 1000.0

Arrows = Sequence[tuple[Callable[[Any], bool], Any]]


def made(**params: Any) -> tuple[Core, AggregationPort]:
    """An actor with one member whose link is up, at NOW."""
    core = Core("lag0", LagParams(("eth0",), **params), 0x020000000001, 1)
    core.now = NOW
    port = AggregationPort(1, 7, Link(True, 1000, True))
    core.add(port)
    return core, port


def taken(figure: Mapping[Any, Arrows], state: Any, given: Any) -> Any:
    """The state that the figure leads to, or the same one."""
    for condition, target in (*figure.get(None, ()), *figure[state]):
        if condition(given):
            return target
    return state


def conditions(**names: Sequence[Any]) -> Iterator[SimpleNamespace]:
    """All combinations."""
    for values in product(*names.values()):
        yield SimpleNamespace(**dict(zip(names, values, strict=True)))


BOTH = (False, True)

# -- 6.4.12 -------------------------------------------------------------------------------------

RECEIVE: Mapping[Any, Arrows] = {
    # INITIALIZE is left for PORT_DISABLED at once
    None: [(lambda c: not c.enabled and not c.moved, Receive.PORT_DISABLED)],
    Receive.PORT_DISABLED: [
        (lambda c: c.moved, Receive.PORT_DISABLED),
        (lambda c: c.enabled and c.lacp, Receive.EXPIRED),
        (lambda c: c.enabled and not c.lacp, Receive.LACP_DISABLED),
    ],
    Receive.EXPIRED: [
        (lambda c: c.pdu, Receive.CURRENT),
        (lambda c: c.timer, Receive.DEFAULTED),
    ],
    Receive.LACP_DISABLED: [(lambda c: c.lacp, Receive.PORT_DISABLED)],
    Receive.DEFAULTED: [(lambda c: c.pdu, Receive.CURRENT)],
    Receive.CURRENT: [
        (lambda c: c.pdu, Receive.CURRENT),
        (lambda c: c.timer, Receive.EXPIRED),
    ],
}


@pytest.mark.parametrize("state", Receive)
def test_receive(state: Receive) -> None:
    given = conditions(enabled=BOTH, lacp=BOTH, pdu=BOTH, timer=BOTH, moved=BOTH)
    for c in given:
        if c.moved and (c.enabled or state is not Receive.PORT_DISABLED):
            continue  # port_moved is of disabled ports alone (6.4.8)
        core, port = made()
        port.receive = state
        port.link = Link(c.enabled, 1000, c.lacp)
        port.pdu = Lacpdu(PARTNER, NO_PARTNER) if c.pdu else None
        port.current_while = NOW if c.timer else NOW + 1
        port.port_moved = c.moved
        expected = taken(RECEIVE, state, c)
        assert (next_receive(core, port) or state) is expected, (state, c)
        receive_machine(core, port)
        assert next_receive(core, port) is None, "it rests"


def test_another_rate_gives_a_partner_less_time_only_from_its_next_lacpdu_on() -> None:
    """Open vSwitch sends at the new rate only after it would have sent at the old one."""
    lags = {rate: LagParams(("eth0",), rate=rate) for rate in ("slow", "fast")}
    actor = Actor("lag0", lags["slow"], 0x020000000001, 1)
    actor.add(1, 7, Link(True, 1000, True), 0.0)
    said = encode_lacpdu(PARTNER, NO_PARTNER, 9)
    actor.receive(1, said, 1.0)
    actor.set_params(lags["fast"], 1.5)
    actor.tick(30.0)
    assert not _expired(actor)
    actor.receive(1, said, 31.0)
    actor.tick(33.9)
    assert not _expired(actor)
    actor.set_params(lags["slow"], 33.9)
    actor.tick(123.0)
    assert not _expired(actor)
    actor.tick(124.0)
    assert _expired(actor)


def _expired(actor: Actor) -> bool:
    (member,) = actor.status().members
    return State.EXPIRED in member.actor.state


def test_what_receive_does_on_entering() -> None:
    core, port = made(rate="fast")
    # PORT_DISABLED -> EXPIRED
    receive_machine(core, port)
    assert port.receive is Receive.EXPIRED
    assert port.current_while == NOW + 3
    assert port.partner_says(State.TIMEOUT)
    assert not port.partner_says(State.SYNCHRONIZATION)
    assert core.actor(port).state & State.EXPIRED
    # CURRENT
    port.pdu = Lacpdu(PARTNER, NO_PARTNER)
    port.selected, port.ntt = Selected.SELECTED, False
    receive_machine(core, port)
    assert port.receive is Receive.CURRENT
    assert port.current_while == NOW + 3
    assert port.selected is Selected.UNSELECTED  # update_Selected
    assert port.ntt  # update_NTT
    assert port.partner == PARTNER  # recordPDU
    assert not core.actor(port).state & (State.EXPIRED | State.DEFAULTED)
    # CURRENT again
    port.pdu = Lacpdu(PARTNER, core.actor(port))
    port.selected, port.ntt = Selected.SELECTED, False
    receive_machine(core, port)
    assert port.selected is Selected.SELECTED
    assert not port.ntt
    # EXPIRED, DEFAULTED
    core.now += 3
    receive_machine(core, port)
    assert port.receive is Receive.EXPIRED
    assert port.selected is Selected.SELECTED
    core.now += 3
    receive_machine(core, port)
    assert port.receive is Receive.DEFAULTED
    assert port.selected is Selected.UNSELECTED  # update_Default_Selected
    assert port.partner == NO_PARTNER  # recordDefault
    assert port.partner_says(State.SYNCHRONIZATION)
    assert core.actor(port).state & State.DEFAULTED
    assert not core.actor(port).state & State.EXPIRED
    # update_Default_Selected finds nothing new
    port.selected, port.receive, port.current_while = Selected.SELECTED, Receive.EXPIRED, NOW
    receive_machine(core, port)
    assert port.receive is Receive.DEFAULTED
    assert port.selected is Selected.SELECTED


@pytest.mark.parametrize(
    ("change", "unselects"),
    [
        ({}, False),
        ({"system": System(1, 9)}, True),
        ({"system": System(9, 2)}, True),
        ({"key": 9}, True),
        ({"port_priority": 9}, True),
        ({"port": 9}, True),
        ({"state": State.ACTIVITY}, True),  # no longer aggregatable
        ({"state": PARTNER.state | State.TIMEOUT | State.COLLECTING}, False),
    ],
    ids=str,
)
def test_update_selected(change: dict[str, Any], unselects: bool) -> None:
    core, port = made()
    port.receive, port.partner, port.defaulted = Receive.CURRENT, PARTNER, False
    port.selected = Selected.SELECTED
    port.pdu = Lacpdu(PARTNER._replace(**change), core.actor(port))
    receive_machine(core, port)
    assert (port.selected is Selected.UNSELECTED) is unselects


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda own: own, False),
        (lambda own: own._replace(system=System(9, own.system.address)), True),
        (lambda own: own._replace(key=9), True),
        (lambda own: own._replace(port_priority=9), True),
        (lambda own: own._replace(port=9), True),
        *((lambda own, b=b: own._replace(state=own.state ^ b), True) for b in [*State][:4]),
        *((lambda own, b=b: own._replace(state=own.state ^ b), False) for b in [*State][4:]),
    ],
)
def test_update_ntt(change: Callable[[Information], Information], wrong: bool) -> None:
    core, port = made()
    port.receive, port.partner, port.defaulted = Receive.CURRENT, PARTNER, False
    port.pdu = Lacpdu(PARTNER, change(core.actor(port)))
    receive_machine(core, port)
    assert port.ntt is wrong


def test_record_pdu_says_who_is_in_sync() -> None:
    """It says so, speaks of this port or is individual, and one of the two goes on speaking."""
    given = conditions(sync=BOTH, matches=BOTH, individual=BOTH, active=BOTH, own=BOTH, knows=BOTH)
    for c in given:
        core, port = made(lacp="active" if c.own else "passive")
        port.receive = Receive.CURRENT
        state = State(0)
        state |= State.SYNCHRONIZATION if c.sync else state
        state |= State.ACTIVITY if c.active else state
        state |= state if c.individual else State.AGGREGATION
        claimed = core.actor(port)
        claimed = claimed._replace(state=claimed.state | State.ACTIVITY)
        if not c.knows:
            claimed = claimed._replace(state=claimed.state & ~State.ACTIVITY)
        if not c.matches:
            claimed = claimed._replace(key=claimed.key + 1)
        port.pdu = Lacpdu(PARTNER._replace(state=state), claimed)
        receive_machine(core, port)
        expected = c.sync and (c.matches or c.individual) and (c.active or (c.own and c.knows))
        assert port.partner_says(State.SYNCHRONIZATION) is bool(expected), c


# -- 6.4.13 -------------------------------------------------------------------------------------

PERIODIC: Mapping[Any, Arrows] = {
    None: [
        (
            lambda c: not c.enabled or not c.lacp or not (c.active or c.partner_active),
            Periodic.NO_PERIODIC,
        )
    ],
    Periodic.NO_PERIODIC: [(lambda c: True, Periodic.FAST_PERIODIC)],
    # by PERIODIC_TX, which is left at once by what the partner wants
    Periodic.FAST_PERIODIC: [
        (lambda c: c.timer and c.short, Periodic.FAST_PERIODIC),
        (lambda c: not c.short, Periodic.SLOW_PERIODIC),
    ],
    Periodic.SLOW_PERIODIC: [
        (lambda c: c.short, Periodic.FAST_PERIODIC),
        (lambda c: c.timer, Periodic.SLOW_PERIODIC),
    ],
}


@pytest.mark.parametrize("state", Periodic)
def test_periodic(state: Periodic) -> None:
    given = conditions(
        enabled=BOTH, lacp=BOTH, active=BOTH, partner_active=BOTH, short=BOTH, timer=BOTH
    )
    for c in given:
        core, port = made(lacp="active" if c.active else "passive")
        port.periodic = state
        port.link = Link(c.enabled, 1000, c.lacp)
        said = State.ACTIVITY if c.partner_active else State(0)
        said |= State.TIMEOUT if c.short else State(0)
        port.partner = PARTNER._replace(state=said)
        port.periodic_timer = NOW if c.timer else NOW + 0.5
        assert (next_periodic(core, port) or state) is taken(PERIODIC, state, c), (state, c)


@pytest.mark.parametrize(
    ("state", "short", "timer", "ntt", "due"),
    [
        (Periodic.NO_PERIODIC, True, PAUSED, False, NOW + 0.5),
        (Periodic.NO_PERIODIC, False, PAUSED, True, NOW + 30),
        (Periodic.FAST_PERIODIC, True, NOW, True, NOW + 0.5),
        (Periodic.FAST_PERIODIC, False, NOW + 0.5, True, NOW + 30),
        (Periodic.FAST_PERIODIC, False, NOW, True, NOW + 30),
        (Periodic.SLOW_PERIODIC, False, NOW, True, NOW + 30),
        (Periodic.SLOW_PERIODIC, True, NOW + 9, True, NOW + 0.5),
        (Periodic.SLOW_PERIODIC, False, NOW + 9, False, NOW + 9),
    ],
)
def test_when_periodic_has_something_sent(
    state: Periodic, short: bool, timer: float, ntt: bool, due: float
) -> None:
    core, port = made()
    port.periodic, port.periodic_timer = state, timer
    port.partner = PARTNER._replace(state=State.TIMEOUT if short else State(0))
    periodic_machine(core, port)
    assert (port.ntt, port.periodic_timer) == (ntt, due)


# -- 6.4.15 -------------------------------------------------------------------------------------

_OUT = (Selected.UNSELECTED, Selected.STANDBY)
MUX: Mapping[Any, Arrows] = {
    Mux.DETACHED: [(lambda c: c.selected is not Selected.UNSELECTED, Mux.WAITING)],
    Mux.WAITING: [
        (lambda c: c.selected is Selected.UNSELECTED, Mux.DETACHED),
        (lambda c: c.selected is Selected.SELECTED and c.ready, Mux.ATTACHED),
    ],
    Mux.ATTACHED: [
        (lambda c: c.selected in _OUT, Mux.DETACHED),
        (lambda c: c.sync, Mux.COLLECTING),
    ],
    Mux.COLLECTING: [
        (lambda c: c.selected in _OUT or not c.sync, Mux.ATTACHED),
        (lambda c: c.collecting, Mux.DISTRIBUTING),
    ],
    Mux.DISTRIBUTING: [
        (lambda c: c.selected in _OUT or not c.sync or not c.collecting, Mux.COLLECTING)
    ],
}


@pytest.mark.parametrize("state", Mux)
def test_mux(state: Mux) -> None:
    for c in conditions(selected=tuple(Selected), sync=BOTH, collecting=BOTH, ready=BOTH):
        core, port = made()
        port.mux, port.selected = state, c.selected
        said = State.SYNCHRONIZATION if c.sync else State(0)
        said |= State.COLLECTING if c.collecting else State(0)
        port.partner = PARTNER._replace(state=said)
        port.wait_while = NOW if c.ready else NOW + 1
        assert (next_mux(core, port) or state) is taken(MUX, state, c), (state, c)


@pytest.mark.parametrize("state", Mux)
def test_what_an_lacpdu_says_of_the_mux(state: Mux) -> None:
    core, port = made()
    port.mux = state
    said = core.actor(port).state
    order = [*Mux]
    assert bool(said & State.SYNCHRONIZATION) is (order.index(state) >= 2)
    assert bool(said & State.COLLECTING) is (order.index(state) >= 3)
    assert bool(said & State.DISTRIBUTING) is (order.index(state) >= 4)


# -- 6.4.17 -------------------------------------------------------------------------------------

CHURN: Mapping[Any, Arrows] = {
    None: [(lambda c: not c.enabled, Churn.MONITOR)],
    Churn.MONITOR: [
        (lambda c: c.sync, Churn.NONE),
        (lambda c: c.timer, Churn.CHURN),
    ],
    Churn.NONE: [(lambda c: not c.sync, Churn.MONITOR)],
    Churn.CHURN: [(lambda c: c.sync, Churn.NONE)],
}


@pytest.mark.parametrize("state", Churn)
def test_churn(state: Churn) -> None:
    for c in conditions(enabled=BOTH, sync=BOTH, timer=BOTH):
        core, port = made()
        port.link = Link(c.enabled)
        machine = ChurnDetection()
        machine.state = state
        machine.timer = NOW if c.timer else NOW + 1
        found = churn_machine(core, port, machine, c.sync)
        assert machine.state is taken(CHURN, state, c), (state, c)
        assert found is (state is not Churn.CHURN and machine.state is Churn.CHURN)


def test_a_minute_of_churn_begins_when_the_link_is_up() -> None:
    core, port = made()
    machine = ChurnDetection()
    churn_machine(core, port, machine, False)
    assert machine.timer == NOW + 60
    churn_machine(core, port, machine, False)
    assert machine.timer == NOW + 60
    assert port.wake == EXPIRED
