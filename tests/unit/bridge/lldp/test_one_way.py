"""One-way links through whole bridges, in virtual time."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import CheckedLink, Effect, FarEnd
from ofapp.bridge.effects.content import PortState
from ofapp.bridge.effects.notices import OneWay
from ofapp.bridge.event import Event
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lldp import BridgeParams, OwnAgents
from ofapp.bridge.one_way.on_bridge import EVENTS
from ofapp.bridge.params.params import BridgeParams as AllParams
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as TreeParams
from ofapp.bridge.stp.status import BridgeStatus
from tests.unit.bridge.lldp.lab import End, Lab, pdu, ports_of

ONE, TWO = (1, 1), (2, 1)
CABLE = [(ONE, TWO)]
KINDS = {bytes.fromhex("0180c2000000"): "bpdu", bytes.fromhex("0180c2000002"): "lacp"}
"""Kinds of frames other than LLDP, by their destination."""
SOON = 5
"""Seconds between frames in most tests; a one-way link is found within 3 intervals and 8 s."""
FOUND = 3 * SOON + 8


def holding(mode: str = "hold") -> PortParams:
    own = PortParams()
    return replace(own, lldp=replace(own.lldp, one_way=mode))


class OneWayLab(Lab):
    """A lab whose controller passes findings on; `cut` drops frames that arrive at these ports."""

    def __init__(self, *given: object, interval: int = SOON, mode: str = "hold", **named: object):
        self.cut: set[End] = set()
        self.waiting: list[tuple[int, CheckedLink | FarEnd]] = []
        ports = {f"p{number}": holding(mode) for number in (1, 2, 3)}
        super().__init__(*given, ports=ports, **named)  # type: ignore[arg-type]
        for number in self.bridges:
            self.configure(number, lldp=BridgeParams(tx_interval=interval))

    def carry(self, sender: int, effects: list[Effect]) -> None:
        super().carry(sender, effects)
        self.waiting += [(sender, e) for e in effects if isinstance(e, CheckedLink | FarEnd)]
        while self.waiting:
            by, notice = self.waiting.pop(0)
            bridge = self.bridges.get(by)
            if bridge is None:
                return
            if isinstance(notice, CheckedLink):
                wanted = bridge.one_way.check(notice, self.now)
            else:
                by = notice.far[0]
                bridge = self.bridges[by]
                wanted = bridge.one_way.follow(notice, f"port {notice.near}", self.now)
            self.carry(by, bridge.carry_out(wanted, self.now))

    def hear(self, at: End, frame: bytes) -> None:
        if at in self.cut:
            return
        kind = KINDS.get(frame[:6])
        if kind is None:
            super().hear(at, frame)
        else:
            self.carry(at[0], self.bridges[at[0]].hear(kind, [(at[1], frame)], self.now))

    def held(self) -> list[End]:
        return [
            (n, port)
            for n, b in self.bridges.items()
            for port in b.one_way.status(0.0)
            if b.one_way.held(port)
        ]

    def suspected(self) -> list[End]:
        return [
            (n, port)
            for n, b in self.bridges.items()
            for port in b.one_way.status(0.0)
            if not b.one_way.held(port)
        ]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events if event.kind.startswith("one_way")]

    def tree(self, number: int) -> BridgeStatus:
        status = self.bridges[number].stp.status(self.now)
        assert status is not None
        return status

    def forwards(self, end: End) -> bool:
        return self.bridges[end[0]].relay.states.get(end[1]) is PortState.FORWARDING


def found() -> OneWayLab:
    """A lab whose link is one-way: port TWO hears nothing, and the fault has been found."""
    lab = OneWayLab(cables=CABLE)
    lab.until(100.0)
    lab.cut.add(TWO)
    lab.until(100.0 + FOUND)
    return lab


def restarted(old: Bridge, params: AllParams | None = None) -> Bridge:
    """The bridge of a controller that has started again, before the switch has connected."""
    new = Bridge(old.datapath_id, params or old.params, SharedState(OwnAgents(b"another")))
    assert new.one_way.restore(old.one_way.dump()) == []
    return new


def test_a_link_that_works_is_open_for_ever() -> None:
    lab = OneWayLab(cables=CABLE)
    lab.until(1000.0)
    assert lab.held() == []
    assert lab.kinds() == []
    assert lab.forwards(ONE)
    assert lab.forwards(TWO)


@pytest.mark.parametrize("interval", [1, 2, 3, 5, 30])
def test_both_ends_of_a_link_that_becomes_one_way_are_closed(interval: int) -> None:
    lab = OneWayLab(cables=CABLE, interval=interval)
    lab.until(200.0)
    lab.cut.add(TWO)  # port 1 of bridge 2 hears nothing
    lab.until(200.0 + 3 * interval + 8)
    assert lab.held() == [ONE, TWO]
    assert not lab.forwards(ONE)
    assert not lab.forwards(TWO)
    near, far = (lab.bridges[n].one_way.held(1) for n in (1, 2))
    assert near is not None
    assert near.found
    assert near.neighbour == "port p1 of br2"
    assert far is not None
    assert not far.found
    assert far.far == (1, 1)
    assert lab.kinds() == ["one_way.held"] * 2


def test_it_is_found_before_slow_lacp_gives_its_partner_up() -> None:
    lab = OneWayLab(cables=CABLE, interval=30)
    lab.until(200.0)
    lab.cut.add(TWO)
    lab.until(290.0)
    assert lab.held() == [ONE, TWO]


def test_a_link_that_is_one_way_from_the_beginning_is_found() -> None:
    lab = OneWayLab(cables=CABLE)
    lab.cut.add(TWO)
    for number in (1, 2):
        down = [replace(ports_of(number)[1], up=up) for up in (False, True)]
        for port in down:
            lab.carry(number, lab.bridges[number].put_port(port, lab.now))
    lab.until(FOUND)
    assert lab.held() == [ONE, TWO]


def test_it_opens_by_itself_when_it_is_heard_again() -> None:
    lab = found()
    assert lab.held() == [ONE, TWO]
    lab.until(400.0)
    assert lab.held() == [ONE, TWO]  # for as long as it lasts
    lab.cut.clear()
    lab.until(400.0 + SOON)
    assert lab.held() == []
    assert lab.forwards(ONE)
    assert lab.forwards(TWO)
    assert lab.kinds() == ["one_way.held"] * 2 + ["one_way.freed"] * 2


def test_silence_proves_nothing() -> None:
    lab = OneWayLab(cables=CABLE)
    lab.until(100.0)
    lab.cut |= {ONE, TWO}
    lab.until(300.0)
    assert lab.held() == []
    lab.cut.clear()
    lab.until(600.0)
    assert lab.held() == []
    assert lab.kinds() == []


@pytest.mark.parametrize("away", [3.0, 20.0, 100.0, 121.0, 400.0])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("interval", [1, 5, 30])
def test_a_switch_that_is_away_closes_nothing(away: float, number: int, interval: int) -> None:
    lab = OneWayLab(cables=CABLE, interval=interval)
    lab.until(200.0)
    lab.bridges[number].pause(lab.now)
    lab.cut.add((number, 1))
    lab.until(200.0 + away)
    lab.cut.clear()
    lab.bridges[number].resume(lab.now)
    lab.carry(number, lab.bridges[number].go_on(lab.now))
    lab.until(800.0)
    assert lab.held() == []
    assert lab.kinds() == []


def test_a_held_port_stays_closed_while_nothing_is_heard_and_opens_after_its_link_was_down() -> (
    None
):
    lab = found()
    lab.cut.add(ONE)
    lab.until(500.0)
    assert lab.held() == [ONE, TWO]
    for up in (False, True):
        lab.carry(1, lab.bridges[1].put_port(replace(ports_of(1)[1], up=up), lab.now))
    assert lab.held() == []  # the other end follows
    assert lab.forwards(ONE)
    assert lab.forwards(TWO)


def test_freed_by_hand_it_is_closed_again_while_the_link_is_one_way() -> None:
    lab = found()
    bridge = lab.bridges[1]
    lab.carry(1, bridge.carry_out(bridge.one_way.free(1, "by request", lab.now), lab.now))
    assert lab.held() == []
    lab.until(lab.now + SOON)
    assert lab.held() == [ONE, TWO]


@pytest.mark.parametrize("how", ["its link was down", "by request"])
def test_the_far_end_that_opens_alone_is_closed_again(how: str) -> None:
    """A static aggregation would go on sending into the port that is still closed."""
    lab = found()
    far = lab.bridges[2]
    if how == "by request":
        lab.carry(2, far.carry_out(far.one_way.free(1, how, lab.now), lab.now))
    else:
        for up in (False, True):
            lab.carry(2, far.put_port(replace(ports_of(2)[1], up=up), lab.now))
    assert lab.held() == [ONE]
    lab.until(lab.now + SOON)
    assert lab.held() == [ONE, TWO]
    lab.cut.clear()
    lab.until(lab.now + 2 * SOON)
    assert lab.held() == []


@pytest.mark.parametrize("off", ["off", "warn"])
@pytest.mark.parametrize("number", [1, 2])
def test_the_option_set_otherwise_at_either_end_opens_both(off: str, number: int) -> None:
    lab = found()
    assert lab.held() == [ONE, TWO]
    ports = lab.bridges[number].params.ports
    lab.configure(number, ports={**ports, "p1": holding(off)})
    lab.until(lab.now + SOON)
    assert lab.held() == []
    lab.until(400.0)
    assert lab.held() == []


def test_lldp_turned_off_opens_both() -> None:
    lab = found()
    lab.configure(1, lldp=None)
    assert lab.held() == []


def test_by_default_it_only_warns() -> None:
    lab = OneWayLab(cables=CABLE, mode="warn")
    lab.until(100.0)
    lab.cut.add(TWO)
    lab.until(300.0)
    assert lab.held() == []
    assert lab.suspected() == [ONE]
    assert lab.kinds() == ["one_way.suspected"]
    (problem,) = [p for p in lab.bridges[1].problems(lab.now) if p.of.name.startswith("one_way")]
    assert problem.of.name == "one_way.suspected"
    lab.cut.clear()
    lab.until(400.0)
    assert lab.suspected() == []
    assert lab.kinds() == ["one_way.suspected", "one_way.suspected.cleared"]


def test_a_neighbour_that_changes_its_mind_keeps_no_event_of_another_port_back() -> None:
    lab = OneWayLab(1)
    suspicion = OneWay("port x of br9", None, False)
    seen: list[int | None] = []

    def finds(port: int, finding: OneWay | None) -> None:
        notice = CheckedLink(port, finding, "it is heard")
        for effect in lab.bridges[1].one_way.check(notice, lab.now):
            assert isinstance(effect, Event)
            seen.append(effect.port)

    for _ in range(100):
        finds(1, suspicion)
        finds(1, None)
    assert seen == [1] * EVENTS
    finds(2, suspicion)
    assert seen[EVENTS:] == [2]
    assert lab.bridges[1].one_way.counters["suspected"] == 101, "all are counted"


def test_another_controllers_bridge_leads_to_a_warning_alone() -> None:
    agents = [OwnAgents(b"one"), OwnAgents(b"two")]
    lab = OneWayLab(cables=CABLE, agents=agents)
    lab.until(100.0)
    lab.cut.add(TWO)
    lab.until(300.0)
    assert lab.held() == []
    assert lab.suspected() == [ONE]


def test_bridges_of_two_members_of_a_cluster_are_closed_at_the_end_that_finds_it() -> None:
    agents = [OwnAgents(b"key", 1), OwnAgents(b"key", 2)]
    lab = OneWayLab(cables=CABLE, agents=agents)
    lab.until(100.0)
    lab.cut.add(TWO)
    lab.until(300.0)
    assert ONE in lab.held()
    lab.cut.clear()
    lab.until(400.0)
    assert lab.held() == []


def test_what_a_host_records_and_replays_closes_nothing() -> None:
    """Frames from before the neighbour heard the port, and those of other ports."""
    lab = OneWayLab(cables=CABLE)
    recorded: list[bytes] = []
    draw = random.Random(7)
    for _ in range(300):
        lab.until(lab.now + draw.uniform(0.05, 2.0))
        recorded += [frame for _, end, frame in lab.sent[-20:] if end[0] == 2]
        lab.hear(ONE, draw.choice(recorded[-60:] or [pdu()]))
    assert lab.held() == []


def test_a_host_that_passes_frames_of_its_own_port_on_to_an_uplink_closes_nothing() -> None:
    """It is behind port 3 of bridge 2, where `one_way` is as by default."""
    lab = OneWayLab(count=2, cables=[])
    ports = lab.bridges[2].params.ports
    lab.configure(2, ports={**ports, "p3": holding("warn")})
    lab.far[2, 3] = ONE
    lab.until(400.0)
    assert lab.held() == []
    assert lab.suspected() == [ONE]


def test_a_segment_with_several_bridges_is_not_closed() -> None:
    lab = OneWayLab(count=3, cables=[])

    def everywhere(sender: End) -> Iterator[End]:
        return (end for end in (ONE, TWO, (3, 1)) if end != sender)

    carry = lab.carry

    def carried(sender: int, effects: list[Effect]) -> None:
        seen = len(lab.sent)
        carry(sender, effects)
        for _, end, frame in lab.sent[seen:]:
            for far in everywhere(end) if end[1] == 1 and end[0] == sender else ():
                lab.hear(far, frame)

    lab.carry = carried  # type: ignore[method-assign]
    lab.until(50.0)
    lab.cut.add((3, 1))  # it hears no bridge, and is heard
    lab.until(200.0)
    assert lab.held() == []


def test_a_member_leaves_its_aggregation_at_both_ends() -> None:
    lags = {"bond0": LagParams(members=("p1", "p2"), lacp="off")}
    lab = OneWayLab(cables=[(ONE, TWO), ((1, 2), (2, 2))], lags=lags)
    for number in (1, 2):
        lab.configure(number, ports={"bond0": holding()})
    lab.until(100.0)
    (lag,) = lab.bridges[1].lags.members()
    assert lab.bridges[1].lags.in_use(lag) == (1, 2)
    lab.cut.add(TWO)
    lab.until(100.0 + FOUND)
    assert lab.held() == [ONE, TWO]
    assert [lab.bridges[n].lags.in_use(lag) for n in (1, 2)] == [(2,), (2,)]
    lab.cut.clear()
    lab.until(200.0)
    assert [lab.bridges[n].lags.in_use(lag) for n in (1, 2)] == [(1, 2), (1, 2)]


def test_a_member_leaves_before_slow_lacp_gives_its_partner_up() -> None:
    """The end that hears nothing would go on sending for up to 90 s."""
    lags = {"bond0": LagParams(members=("p1", "p2"), rate="slow")}
    lab = OneWayLab(cables=[(ONE, TWO), ((1, 2), (2, 2))])
    for number in (1, 2):
        lab.configure(number, lags=lags, ports={"bond0": holding()})
        lab.carry(number, lab.bridges[number].go_on(lab.now))
    lab.until(100.0)
    (lag,) = lab.bridges[1].lags.members()
    assert [lab.bridges[n].lags.in_use(lag) for n in (1, 2)] == [(1, 2), (1, 2)]
    lab.cut.add(TWO)
    lab.until(100.0 + FOUND)
    assert lab.held() == [ONE, TWO]
    assert [lab.bridges[n].lags.in_use(lag) for n in (1, 2)] == [(2,), (2,)]
    lab.cut.clear()
    lab.until(200.0)
    assert lab.held() == []
    assert [lab.bridges[n].lags.in_use(lag) for n in (1, 2)] == [(1, 2), (1, 2)]


def test_spanning_tree_takes_another_path() -> None:
    """Without the hold, bridge 2 would keep a root port by which it can send nothing."""
    lab = OneWayLab(cables=[(ONE, TWO), ((1, 2), (2, 2))])
    for number, priority in ((1, 4096), (2, 32768)):
        lab.configure(number, stp=TreeParams(priority=priority))
    lab.until(100.0)
    roles = {p.port: p.role.value for p in lab.tree(2).ports}
    assert (roles[1], roles[2]) == ("root", "alternate")
    lab.cut.add(ONE)  # port 1 of bridge 1 hears nothing, so bridge 2 finds the fault
    lab.until(100.0 + FOUND)
    assert lab.held() == [ONE, TWO]
    roles = {p.port: p.role.value for p in lab.tree(2).ports}
    assert (roles[1], roles[2]) == ("disabled", "root")
    assert lab.forwards((2, 2))


def test_held_ports_outlive_the_controller() -> None:
    lab = found()
    new = restarted(lab.bridges[1])
    new.set_ports(ports_of(1), lab.now)
    assert 1 not in new.relay.states
    assert new.one_way.held(1) == lab.bridges[1].one_way.held(1)
    other = restarted(lab.bridges[1])
    moved = [replace(port, name=f"x{port.name}") for port in ports_of(1)]
    other.set_ports(moved, lab.now)
    assert other.one_way.held(1) is None
    assert 1 in other.relay.states


@pytest.mark.parametrize("now", ["off", "warn", "LLDP is off"])
def test_a_port_opens_whose_settings_have_changed_while_the_controller_was_stopped(
    now: str,
) -> None:
    lab = found()
    old = lab.bridges[1]
    if now == "LLDP is off":
        params = replace(old.params, lldp=None)
    else:
        params = replace(old.params, ports={"p1": holding(now)})
    new = restarted(old, params)
    new.set_ports(ports_of(1), lab.now)
    assert new.one_way.held(1) is None
    assert 1 in new.relay.states


def test_a_stored_port_that_the_switch_has_no_more_is_no_problem() -> None:
    lab = found()
    new = restarted(lab.bridges[1])
    new.set_ports([port for port in ports_of(1) if port.number != 1], lab.now)
    assert [each for each in new.problems(lab.now) if each.of.name.startswith("one_way")] == []
    assert new.one_way.status(lab.now) == {}


@pytest.mark.parametrize("data", [{}, {"held": 1}, {"held": [{"port": 1}]}, [], None])
def test_a_damaged_document_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="not the ports that are held"):
        Bridge(1, Lab(1).bridges[1].params).one_way.restore(data)


@pytest.mark.parametrize("seed", range(20))
def test_random_faults_never_close_a_link_that_works_and_never_leave_a_faulty_one(
    seed: int,
) -> None:
    """Three bridges in a ring; any direction fails and is repaired at any time."""
    draw = random.Random(seed)
    cables = [((1, 1), (2, 1)), ((2, 2), (3, 2)), ((3, 1), (1, 2))]
    lab = OneWayLab(count=3, cables=cables, interval=draw.choice((1, 5, 30)))
    ends = [end for cable in cables for end in cable]
    for _ in range(12):
        lab.until(lab.now + draw.choice((1.0, 10.0, 100.0)))
        end = draw.choice(ends)
        lab.cut ^= {end}
    lab.until(lab.now + 200.0)
    for cable in cables:
        deaf = [end for end in cable if end in lab.cut]
        held = [end for end in cable if end in lab.held()]
        if not deaf:
            assert held == []
        if len(deaf) == 1:
            assert held == [*cable]
