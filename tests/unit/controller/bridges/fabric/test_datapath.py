"""A fabric as a datapath, with sessions that only record what they get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import Count, DatapathStatus, PlannedItem
from ofapp.bridge.effects import (
    Barrier,
    Effect,
    ForFabric,
    InLine,
    OnMember,
    RenewPort,
    Reprogram,
    SendFrame,
    StateChanged,
)
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import Content, SetFabric, SetShared
from ofapp.bridge.event import PortNumber
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortCount
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.controller.bridges.fabric import fabric_datapath
from ofapp.controller.bridges.fabric.fabric_datapath import FabricDatapath
from ofapp.controller.events import EventLog
from ofapp.controller.state.saving import NotSavedError, UnreachedError
from ofapp.controller.state.store import State
from ofapp.openflow.switch.events import BRIDGE_READY

PARAMS = FabricParams(
    "pod", 7, (MemberParams("s1", 0xA1, ("l*",)), MemberParams("s2", 0xA2, ("l*",)))
)
COUNT = PortCount(1, 2, 3, 4, 0, 0, 0, 0)


class NoCounters:
    def matched(self, name: str, rule: str) -> Count | None:
        return Count(2, 100, 5.0)

    def over_rate(self, name: str, rule: str) -> int:
        return 1


class FakeSession:
    """A member's session; `confirm` asks, and `confirmed` answers."""

    def __init__(
        self, channel: Any, bridge: Any, handle: Any, _ownership: Any, adopt_static: bool
    ) -> None:
        assert not adopt_static
        self.channel, self.bridge = channel, bridge
        self.phase = SimpleNamespace(runs=False)
        self.in_line = False
        self.refused_contents = 0
        self.applied: list[Effect] = []
        self.asked: list[Callable[[], None]] = []
        self.packet_ins = Counter(lldp=1)
        self.port_counters = SimpleNamespace(latest={1: COUNT, 3: COUNT}, at=1.0)
        self._handle = handle

    def begin(self, *numbers: int) -> None:
        """Have the ports, and be programmed."""
        ports = [Port(number, f"p{number}", number, up=True) for number in numbers]
        local = Port(LOCAL_PORT, "br0", 1, up=True)
        self.hand(self.bridge.put_ports([local, *ports, Port(3, "l1", 3, up=True)], 0.0))
        self.bridge.resume(0.0)
        self.phase.runs = True
        self.hand(self.bridge.go_on(0.0))

    def hand(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._handle(self.bridge, effect)

    def apply(self, effects: list[Effect]) -> None:
        self.applied += effects

    def confirm(
        self, done: Callable[[], None], urgent: bool = False, in_effect: bool = False
    ) -> bool:
        self.asked.append(done)
        return True

    def confirmed(self) -> None:
        asked, self.asked = self.asked, []
        for done in asked:
            done()

    def stay_behind(self, ahead: bool) -> None:
        self.ahead = ahead

    def status(self) -> DatapathStatus:
        held = {"learning": {1: 4, 3: 5}}
        return DatapathStatus(True, None, ["a flow"], True, {"rule": 2}, held, NoCounters())

    def load(self, seconds: float) -> Load | None:
        return Load(seconds, {1: 10}, {1: 5}, 2)

    def changes_from_now(self) -> Callable[[], Any]:
        return lambda: SimpleNamespace(
            counts=lambda: {"flows": 1}, lines=lambda: iter(["added flow"])
        )

    def plan(self, _params: BridgeParams) -> Any:
        item = PlannedItem("port eth1", ("VLAN 10 -> 20",), {"flows": 1})
        return SimpleNamespace(changes=self.changes_from_now()(), items=lambda: iter([item]))


class Bed:
    """The fabric of two members; `notices`: those that the controller got."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, shared: bool = False) -> None:
        monkeypatch.setattr(fabric_datapath, "Session", FakeSession)
        monkeypatch.setattr(fabric_datapath.hub, "keep", lambda _fault, loop: loop)
        monkeypatch.setattr(fabric_datapath.hub, "kill", lambda _loop: None)
        bridge = Bridge(0xA1, BridgeParams(stp=None), name="pod")
        self.notices: list[Any] = []
        self.state = State(None)
        self.datapath = FabricDatapath(
            Fabric(PARAMS, bridge, OwnAgents()),
            lambda _bridge, notice: self.notices.append(notice),
            self.state.fabrics,
            EventLog().fault,
            shared,
        )

    def join(self, member: int, *ports: int) -> FakeSession:
        channel: Any = SimpleNamespace(address=("192.0.2.1", member))
        session: Any = self.datapath.join(member, channel, SimpleNamespace())  # type: ignore[arg-type]
        session.begin(*ports)
        return session  # type: ignore[no-any-return]


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> Bed:
    return Bed(monkeypatch)


def test_effects_go_to_the_members_that_have_the_ports(bed: Bed) -> None:
    one, two = bed.join(1, 1, 2), bed.join(2, 1)
    port = bed.datapath.fabric.number(2, 1)
    assert port is not None
    one.applied.clear()
    two.applied.clear()
    bed.datapath.apply([RenewPort(port)])
    assert (one.applied, two.applied) == ([], [RenewPort(1)])


def test_a_port_opens_when_those_that_close_are_closed_at_all_members(bed: Bed) -> None:
    one, two = bed.join(1, 1, 2), bed.join(2, 1)
    here, there = (bed.datapath.fabric.number(member, 1) for member in (1, 2))
    assert here is not None
    assert there is not None
    one.confirmed()
    two.confirmed()
    one.applied.clear()
    two.applied.clear()
    close, open_ = (
        SetPortState(here, PortState.DISCARDING),
        SetPortState(there, PortState.FORWARDING),
    )
    bed.datapath.apply([close, Barrier(), open_])
    assert one.applied == [SetPortState(1, PortState.DISCARDING)]
    assert two.applied == []
    one.confirmed()
    two.confirmed()
    assert SetPortState(1, PortState.FORWARDING) in two.applied


def test_a_member_is_programmed_as_a_whole_when_all_others_have_closed_their_ports(
    bed: Bed,
) -> None:
    """Two members' ports are an aggregation, which is dissolved: each is a port by itself then.

    Nor is a member compared with the bridge before.
    """
    bridge = bed.datapath.bridge
    lags = {"bond": LagParams(("s1/p1", "s2/p1"), lacp="off")}
    bed.datapath.apply(bridge.set_params(replace(bridge.params, lags=lags), 0.0))
    members = bed.join(1, 1, 2), bed.join(2, 1, 2)
    while any(member.asked for member in members):
        for member in members:
            member.confirmed()
    for member in members:
        member.applied.clear()
    bed.datapath.apply(bridge.set_params(replace(bridge.params, lags={}), 1.0))
    assert [type(effect) for effect in members[0].applied] == [DesiredLag, SetShared]
    for member in members:
        assert Reprogram() not in member.applied
        assert member.ahead
    while any(member.asked for member in members):
        for member in members:
            member.confirmed()
    for member in members:
        assert member.applied.count(Reprogram()) == 1
        assert not member.ahead
    assert SetPortState(1, PortState.FORWARDING) in members[0].applied


@pytest.mark.parametrize(("number", "name"), [(1, "p1"), (3, "l1")])
def test_an_event_of_a_member_names_the_port_of_its_switch(
    bed: Bed, number: int, name: str
) -> None:
    bed.join(1, 1, 2)
    two = bed.join(2, 1)
    two.hand([BRIDGE_READY.event((PortNumber(number), ": in line"), number)])
    event = bed.notices[-1]
    assert event.message == f"s2: port {name} ({number}): in line"
    assert event.port == bed.datapath.fabric.number(2, number)


def test_frames_of_links_wait_for_nothing(bed: Bed) -> None:
    one, two = bed.join(1, 1), bed.join(2, 1)
    here = bed.datapath.fabric.number(1, 1)
    assert here is not None
    bed.datapath.apply([SetPortState(here, PortState.DISCARDING), Barrier(), RenewPort(here)])
    frame = SendFrame(frozenset({3}), b"probe")
    bed.datapath.apply([OnMember(2, frame)])
    assert two.applied[-1] == frame
    assert RenewPort(1) not in one.applied


def test_contents_are_stored_before_they_are_sent(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = bed.join(1, 1)
    written: list[str] = []
    store = bed.state.fabrics
    save = store.save

    def saved(*arguments: Any) -> Any:
        written.append("stored")
        assert not [effect for effect in one.applied if isinstance(effect, SetFabric)]
        return save(*arguments)

    monkeypatch.setattr(store, "save", saved)
    bed.datapath.write_contents()
    assert written == ["stored"]
    sent = [effect for effect in one.applied if isinstance(effect, SetFabric)]
    assert [effect.desired.member for effect in sent] == [1]
    stored = store.load(0xA1)
    assert stored is not None
    assert {"uses", "ports"} <= stored.keys()


def test_last_frames_go_to_the_member_that_has_the_port(bed: Bed) -> None:
    bed.join(1, 1)
    bed.join(2, 1)
    number = bed.datapath.fabric.number(2, 1)
    assert number is not None
    frames = [SendFrame(frozenset({number}), b"lacp")]
    assert bed.datapath.frames_of(1, frames) == []
    assert bed.datapath.frames_of(2, frames) == [SendFrame(frozenset({1}), b"lacp")]


class Unsaved:
    """A ticket of what cannot be stored now."""

    def wait(self) -> None:
        raise NotSavedError(UnreachedError(110, "etcd does not answer"))


@pytest.mark.parametrize("shared", [False, True])
def test_in_a_cluster_no_version_is_used_that_is_not_stored(
    monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """Another controller would use it for another plan; one that is alone goes on."""
    bed = Bed(monkeypatch, shared=shared)
    again: list[Any] = []
    monkeypatch.setattr(fabric_datapath.hub, "spawn_after", lambda _s, do, *_: again.append(do))
    one = bed.join(1, 1)
    bed.join(2, 1)
    save, store = bed.state.fabrics.save, bed.state.fabrics
    monkeypatch.setattr(store, "save", lambda *_: Unsaved())

    def uses() -> int | None:
        sent = [effect for effect in one.applied if isinstance(effect, SetFabric)]
        return sent[-1].desired.content.use if sent else None

    for _ in range(3):
        bed.datapath.write_contents()
        for session in [*bed.datapath.connected.values()]:
            session.confirmed()  # type: ignore[attr-defined]
    assert (uses() is None) == shared
    monkeypatch.setattr(store, "save", save)
    bed.datapath.write_contents()
    assert uses() is not None
    assert bool(again) == shared


def test_a_content_that_waits_for_its_storage_is_not_for_the_next_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its confirmation would be about another content."""
    bed = Bed(monkeypatch, shared=True)
    monkeypatch.setattr(fabric_datapath.hub, "spawn_after", lambda *_: None)
    one, two = bed.join(1, 1), bed.join(2, 1)

    class Leaving(Unsaved):
        def wait(self) -> None:
            bed.datapath.leave(1)
            super().wait()

    for _ in range(2):
        bed.datapath.write_contents()
        one.confirmed()
        two.confirmed()
    monkeypatch.setattr(bed.state.fabrics, "save", lambda *_: Leaving())
    bed.datapath._uses.clear()
    bed.datapath._contents = {
        at: bed.datapath.fabric.fabric_effect(at).desired.content for at in (1, 2)
    }
    bed.datapath.write_contents()
    assert bed.datapath._contents.keys() == {2}


def test_a_content_of_an_ended_connection_is_not_confirmed(bed: Bed) -> None:
    one = bed.join(1, 1)
    bed.datapath.write_contents()
    bed.datapath.leave(1)
    one.confirmed()
    status = bed.datapath.fabric.status(1.0)
    assert not status.members[0].ready


def test_a_content_that_the_switch_has_refused_is_not_confirmed(bed: Bed) -> None:
    """The answer to a barrier says that a switch has handled all, not that it has taken all."""
    one = bed.join(1, 1)
    bed.datapath.write_contents()
    one.refused_contents += 1
    one.confirmed()
    (refused,) = [
        each for each in bed.notices if getattr(each, "kind", "") == "fabric.member.refused"
    ]
    assert refused.data["member"] == "s1"
    assert bed.datapath.fabric.status(1.0).members[0].refuses


def test_a_late_confirmation_does_not_undo_a_later_one(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked for again, as something waited, or its grace time was longer."""
    one = bed.join(1, 1)
    bed.datapath.write_contents()
    one.asked.clear()
    fabric, confirmed = bed.datapath.fabric, list[Content]()
    contents = [Content({}, frozenset(), None), Content({}, frozenset(), 7)]
    waiting = [[(1, content)] for content in contents]
    monkeypatch.setattr(fabric, "contents", lambda now: waiting.pop(0) if waiting else [])

    def confirm(_member: int, content: Content, _now: float) -> list[Effect]:
        confirmed.append(content)
        return []

    monkeypatch.setattr(fabric, "confirm", confirm)
    for _ in contents:
        one.hand([ForFabric(())])
        bed.datapath.write_contents()
    earlier, later = one.asked
    later()
    earlier()
    assert confirmed == contents[1:]


def test_a_content_is_not_sent_over_the_connection_after_its_own(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its version may be another plan's when it is saved and the member is back."""
    before = bed.join(1, 1)
    again: list[FakeSession] = []

    def reconnect() -> None:
        if not again:
            bed.datapath.leave(1)
            again.append(bed.join(1, 1))

    monkeypatch.setattr(bed.datapath, "save", lambda: SimpleNamespace(wait=reconnect))
    while not again:  # the first content only installs a version, and does not wait
        bed.datapath.write_contents()
        before.confirmed()
    assert not any(isinstance(effect, SetFabric) for effect in again[0].applied)
    bed.datapath.write_contents()
    assert any(isinstance(effect, SetFabric) for effect in again[0].applied)


def test_notices_name_the_member(bed: Bed) -> None:
    one, two = bed.join(1, 1), bed.join(2, 1)
    bed.notices.clear()
    one.hand([BRIDGE_READY.event("in line", port=1)])
    (event,) = bed.notices
    assert event.message == "s1: in line"
    assert event.port == bed.datapath.fabric.number(1, 1)
    bed.notices.clear()
    one.in_line = True
    one.hand([InLine()])
    assert bed.notices == []
    two.in_line = True
    two.hand([InLine(), ForFabric((StateChanged("stp"),))])
    assert bed.notices == [InLine(), StateChanged("stp")]


def test_confirmation_needs_all_members(bed: Bed) -> None:
    one, two = bed.join(1, 1), bed.join(2, 1)
    one.confirmed()
    two.confirmed()
    done: list[int] = []
    assert bed.datapath.confirm(lambda: done.append(1))
    one.confirmed()
    assert not done
    two.confirmed()
    assert done == [1]


def test_the_status_is_that_of_all_members(bed: Bed) -> None:
    bed.join(1, 1)
    bed.join(2, 1)
    here, there = (bed.datapath.fabric.number(member, 1) for member in (1, 2))
    status = bed.datapath.status()
    assert status.in_line
    assert status.refused == ["s1: a flow", "s2: a flow"]
    assert status.drops == {"rule": 4}
    assert status.held_back == {"learning": {here: 4, there: 4}}
    assert status.acl.matched("a", "b") == Count(4, 200, 5.0)
    assert status.acl.over_rate("a", "b") == 2
    assert bed.datapath.packet_ins == {"lldp": 2}
    assert bed.datapath.port_counters.latest == {here: COUNT, there: COUNT}
    assert bed.datapath.link_counts() == {"s1/l1": COUNT, "s2/l1": COUNT}
    load = bed.datapath.load(2.0)
    assert load is not None
    assert (load.seen, load.waiting) == ({here: 10, there: 10}, 4)


def test_changes_are_told_by_member(bed: Bed) -> None:
    bed.join(1, 1)
    bed.join(2, 1)
    changed = bed.datapath.reconfigure([RenewPort(1)])()
    assert changed.counts() == {"flows": 2, "groups": 0, "meters": 0}
    assert list(changed.lines()) == ["s1: added flow", "s2: added flow"]
    planned = bed.datapath.plan(BridgeParams())
    assert planned.changes.counts() == {"flows": 2, "groups": 0, "meters": 0}
    assert bed.datapath.reconfigure([])().counts() == {"flows": 0, "groups": 0, "meters": 0}
    assert [one.item for one in planned.items()] == ["s1: port eth1", "s2: port eth1"]
