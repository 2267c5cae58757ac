"""Aggregations that speak LACP, through the whole bridge: what is sent to the datapath and when."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, DesiredLag, Effect, SendFrame, StateChanged
from ofapp.bridge.event import Event
from ofapp.bridge.lag.lacp import Actor, SendPdu
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lag.status import LagStatus
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import Link
from tests.unit.effort import lines

LOCAL = Port(LOCAL_PORT, "br0", 0x0200000000FE, True)
M1, M2, X = (Port(n, name, n, True, 1000) for n, name in ((1, "m1"), (2, "m2"), (3, "x")))
LAG = 4095
SPOKEN = LagParams(("m1", "m2"), rate="fast")


def bridge(**params: Any) -> Bridge:
    return Bridge(7, BridgeParams(lags={"lag0": replace(SPOKEN, **params)}))


class Lab:
    """A bridge and a partner, an actor of LACP, whose ports 11 and 12 are cabled to 1 and 2."""

    def __init__(self, made: Bridge | None = None, **partner: Any) -> None:
        self.bridge = bridge() if made is None else made
        params = LagParams(("n1", "n2"), **{"rate": "fast", **partner})
        self.partner = Actor("bond0", params, 0x020000000099, 9)
        self.now = 0.0
        self.cables = {1: 11, 2: 12}
        self.effects: list[Effect] = []
        for port in self.cables.values():
            self.partner_does(self.partner.add(port, port, Link(True), self.now))

    def plug(self, *ports: Port) -> None:
        """The switch connects, with these ports and LOCAL."""
        self.bridge.resume(self.now)
        self.apply(self.bridge.set_ports([*ports, LOCAL], self.now))
        self.apply(self.bridge.go_on(self.now))

    def apply(self, effects: list[Effect]) -> None:
        self.effects += effects
        for effect in effects:
            if isinstance(effect, SendFrame):
                for port in effect.ports & self.cables.keys():
                    self.partner_does(
                        self.partner.receive(self.cables[port], effect.frame, self.now)
                    )

    def partner_does(self, effects: list[Any]) -> None:
        back = {there: here for here, there in self.cables.items()}
        for effect in effects:
            if isinstance(effect, SendPdu) and effect.port in back:
                frame = (back[effect.port], effect.frame)
                self.apply(self.bridge.hear("lacp", [frame], self.now))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while True:
            wakes = [self.bridge.next_wakeup(), self.partner.next_wakeup()]
            due = min(wake for wake in [*wakes, end] if wake is not None)
            self.now = max(self.now, due)
            if due >= end:
                return
            self.apply(self.bridge.tick(self.now))
            self.partner_does(self.partner.tick(self.now))

    @property
    def status(self) -> LagStatus:
        return self.bridge.lags.status(self.now)[0]

    @property
    def used(self) -> list[str]:
        return [member.name for member in self.status.members if member.distributing]

    def events(self) -> list[str]:
        return [effect.kind for effect in self.effects if isinstance(effect, Event)]


def test_members_come_into_use_as_lacp_says() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    assert lab.used == []
    assert not lab.status.up
    lab.run(5)
    assert lab.used == ["m1", "m2"]
    assert all(all(does) for does in lab.partner.members.values())
    assert lab.status.up
    assert lab.status.speed_mbps == 2000
    assert lab.status.system == LOCAL.mac
    assert lab.status.partner is not None
    assert lab.status.partner.system == 0x020000000099
    assert [member.state for member in lab.status.members] == ["distributing"] * 2
    assert lab.bridge.ports.named("lag0").up


def test_an_lacpdu_and_a_timer_cost_the_same_beside_many_aggregations() -> None:
    costs = []
    for number in (2, 200):
        idle = {f"lag{n}": LagParams((f"idle{n}",)) for n in range(1, number)}
        lab = Lab(Bridge(7, BridgeParams(lags={"lag0": SPOKEN, **idle})))
        lab.plug(M1, M2)
        lab.run(5)
        assert lab.used == ["m1", "m2"]
        costs.append(lines(lambda lab=lab: lab.run(25)))  # type: ignore[misc]
    assert costs[1] < 1.1 * costs[0]


def test_a_silent_partner_is_noticed() -> None:
    """On one member after three seconds; on both it is waited for, as there is no other path."""
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    silent = lab.cables.pop(1)
    lab.run(4)
    assert lab.used == ["m2"]
    lab.cables[1] = silent
    lab.run(5)
    assert lab.used == ["m1", "m2"]
    lab.cables.clear()
    lab.run(60)
    assert lab.used == ["m1", "m2"]
    lab.run(31)
    assert lab.used == []
    assert not lab.bridge.ports.named("lag0").up


def test_a_member_that_collects_is_in_the_datapath_before_its_partner_hears_of_it() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    opened = False
    for number, effect in enumerate(lab.effects):
        if isinstance(effect, DesiredLag) and effect.collecting:
            opened = True
            rest = lab.effects[number + 1 :]
            sent = next(
                at for at, e in enumerate(rest) if isinstance(e, SendFrame) and 1 in e.ports
            )
            assert Barrier() in rest[:sent]
            break
    assert opened


def test_while_the_switch_is_away_lacp_stands_still_and_then_goes_on() -> None:
    lab = Lab(rate="slow")
    lab.plug(M1, M2, X)
    lab.run(5)
    lab.bridge.pause(lab.now)
    lab.effects.clear()
    assert lab.bridge.next_wakeup() is None
    lab.now += 40
    lab.plug(M1, M2, X)
    lab.run(5)
    assert lab.used == ["m1", "m2"]
    assert "lag.member.down" not in lab.events()
    assert all(all(does) for does in lab.partner.members.values())


def test_a_controller_that_was_killed_goes_on_with_what_it_wrote_down() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(50)
    assert StateChanged("lacp") in lab.effects
    kept = json.loads(json.dumps(lab.bridge.lags.dump()))
    flaps = [member.flaps for member in lab.partner.status().members]
    lab.effects.clear()
    lab.now += 1.9
    lab.bridge = bridge()
    assert lab.bridge.lags.restore(kept) == []
    # ports come one by one, and LOCAL has another address by now
    lab.bridge.resume(lab.now)
    for port in (replace(LOCAL, mac=5), M2, X, M1):
        lab.apply(lab.bridge.put_port(port, lab.now))
    assert lab.bridge.desired().lags[0].collecting == (1, 2)
    assert lab.bridge.desired().lags[0].distributing == (1, 2)
    assert not [effect for effect in lab.effects if isinstance(effect, SendFrame)]
    lab.apply(lab.bridge.go_on(lab.now))
    lab.run(60)
    assert lab.used == ["m1", "m2"]
    assert "lag.member.down" not in lab.events()
    assert all(all(does) for does in lab.partner.members.values())
    assert [member.flaps for member in lab.partner.status().members] == flaps


def test_a_controller_that_ends_as_it_should_has_its_partner_wait_from_then_on() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5.9)
    lab.apply(lab.bridge.send_last(lab.now))
    lab.cables.clear()
    end = lab.now
    effects: list[Any] = []
    while "lacp.silent" not in [effect.kind for effect in effects if isinstance(effect, Event)]:
        lab.now += 0.05
        effects = lab.partner.tick(lab.now)
    assert lab.now - end == pytest.approx(3, abs=0.1)


def test_what_was_said_last_can_be_said_again_while_nothing_runs() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    lab.bridge.pause(lab.now)
    for _ in range(20):
        lab.now += 0.5
        lab.apply([*lab.bridge.lags.last_frames()])
        lab.partner_does(lab.partner.tick(lab.now))
    assert not [member for member in lab.partner.status().members if member.flaps]
    assert all(all(does) for does in lab.partner.members.values())


def test_a_member_that_is_gone_meanwhile_is_out() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    kept = lab.bridge.lags.dump()
    lab.bridge = bridge()
    lab.bridge.lags.restore(kept)
    lab.plug(M2, X)
    assert lab.bridge.desired().lags[0].distributing == (2,)
    lab.run(5)
    assert lab.used == ["m2"]


def test_what_is_no_dump_is_damaged() -> None:
    with pytest.raises(ValueError, match="no aggregations"):
        bridge().lags.restore(7)


@pytest.mark.parametrize(
    "kept", [{"lag0": 7}, {"lag0": {"names": [], "actor": {}}}, {"other": {}}], ids=str
)
def test_what_was_not_written_down_by_it_is_not_gone_on_with(kept: Any) -> None:
    made = bridge()
    wrong = made.lags.restore(kept)
    assert bool(wrong) is ("lag0" in kept)
    lab = Lab(made)
    lab.plug(M1, M2, X)
    lab.run(5)
    assert lab.used == ["m1", "m2"]


def test_names_and_members_that_do_not_fit_are_not_gone_on_with() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    kept = lab.bridge.lags.dump()
    kept["lag0"]["names"].pop()
    assert bridge().lags.restore(kept) == ["lag0: its members and their names are not the same"]
    assert bridge(lacp="off").lags.restore(kept) == []


def test_the_partner_is_reported_when_the_aggregation_is_taken_away_or_made_static() -> None:
    for params in ({}, {"lag0": replace(SPOKEN, lacp="off")}):
        lab = Lab()
        lab.plug(M1, M2, X)
        lab.run(5)
        lab.effects.clear()
        lab.apply(lab.bridge.set_params(BridgeParams(lags=params), lab.now))
        assert StateChanged("lacp") in lab.effects
        assert lab.bridge.lags.dump() == {}  # no process is to go on with it
        assert not any(sends for _, sends in lab.partner.members.values())


def test_parameters_change_at_run_time() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    changed = BridgeParams(lags={"lag0": replace(SPOKEN, max_links=1)})
    lab.apply(lab.bridge.set_params(changed, lab.now))
    lab.run(2)
    assert lab.used == ["m1"]
    m2 = lab.status.members[1]
    assert (m2.state, "max_links" in m2.reason) == ("standby", True)


def test_one_that_returns_does_not_wait_to_become_an_edge() -> None:
    """If its partner is the one that it had; behind another one there may be a bridge."""
    spanned = BridgeParams(stp=stp.BridgeParams(), lags={"lag0": SPOKEN})
    lab = Lab(Bridge(7, spanned))
    lab.plug(M1, M2, X)
    lab.apply(lab.bridge.go_on(lab.now))

    def edges_after(seconds: float) -> bool:
        lab.run(seconds)
        assert lab.used == ["m1", "m2"]
        return lab.bridge.desired_port(LAG).state is stp.PortState.FORWARDING

    assert not edges_after(4)
    assert edges_after(4)
    changed = replace(spanned, lags={"lag0": replace(SPOKEN, port_priority=1)})
    lab.apply(lab.bridge.set_params(changed, lab.now))
    assert lab.used == []
    assert edges_after(3)
    other = replace(LagParams(("n1", "n2"), rate="fast"), system_priority=7)
    lab.partner_does(lab.partner.set_params(other, lab.now))
    assert lab.used == []
    assert not edges_after(3)
    assert edges_after(4)


def test_a_static_one_begins_to_speak() -> None:
    lab = Lab(bridge(lacp="off"))
    lab.plug(M1, M2, X)
    assert lab.used == ["m1", "m2"]
    assert lab.status.system is None
    lab.apply(lab.bridge.set_params(BridgeParams(lags={"lag0": SPOKEN}), lab.now))
    assert lab.used == []
    lab.run(5)
    assert lab.used == ["m1", "m2"]


def test_another_port_of_the_same_number_is_another_member() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    lab.apply(lab.bridge.put_port(replace(M1, name="m3"), lab.now))
    assert lab.used == ["m2"]
    lab.apply(lab.bridge.put_port(M1, lab.now))
    lab.run(5)
    assert lab.used == ["m1", "m2"]


def test_a_number_that_lacp_cannot_say_is_not_used() -> None:
    lab = Lab()
    lab.plug(M1, replace(M2, number=70_000), X)
    lab.run(5)
    assert lab.used == ["m1"]
    assert lab.status.members[1].reason


def test_fallback_is_up_whatever_min_links_says() -> None:
    lab = Lab(bridge(fallback=True, min_links=2))
    lab.cables.clear()
    lab.plug(M1, M2, X)
    lab.run(6)
    assert lab.used == ["m1"]
    assert lab.status.up
    assert lab.bridge.ports.named("lag0").up
    assert lab.status.members[0].state == "individual"
    assert lab.status.members[0].partner is None


def test_what_is_counted_and_reported() -> None:
    lab = Lab()
    lab.plug(M1, M2, X)
    lab.run(5)
    lab.apply(lab.bridge.hear("lacp", [(1, b"nonsense"), (9, b""), (3, b"")], lab.now))
    counters = lab.status.members[0].counters
    assert counters["lacpdus_received"] > 3
    assert counters["lacpdus_sent"] > 3
    assert counters["illegal_received"] == 1
    assert counters["dropped"] == 1
    (event,) = [e for e in lab.effects if isinstance(e, Event) and e.kind == "lacp.dropped"]
    assert event.message == "lag0, member m1: Slow Protocols frame dropped: truncated"
    assert (event.port, event.data["member"], event.data["lag"]) == (LAG, "m1", "lag0")


def test_a_member_that_was_another_port_a_moment_ago_does_not_hear_yet() -> None:
    """A partner that is only waited for is not reported as a link that is down."""
    lab = Lab(Bridge(7, BridgeParams()))
    lab.plug(M1, M2, X)
    lab.run(5)
    lab.apply(lab.bridge.set_params(BridgeParams(lags={"lag0": SPOKEN}), lab.now))
    for port in (11, 12):
        lab.partner_does(lab.partner.set_link(port, Link(False), lab.now))
        lab.partner_does(lab.partner.set_link(port, Link(True), lab.now))
    lab.run(20)
    (status,) = lab.bridge.lags.status(lab.now)
    assert [member.state for member in status.members] == ["distributing"] * 2
    kinds = [effect.kind for effect in lab.effects if isinstance(effect, Event)]
    assert "lacp.dropped" not in kinds
