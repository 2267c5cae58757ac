"""A switch is brought in line in portions, and what its bridge wants meanwhile is not lost."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import ofapp.common.hub

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import access
from ofapp.common.portions import PORTION, Portions
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.model.flow import Group
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline import flows as pipeline
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.part import NOTHING
from ofapp.openflow.pipeline.parts import port_key
from ofapp.openflow.switch.audit import comparison, reconciler
from ofapp.openflow.switch.audit.reconciler import MOST_LATE, OvertakenError, Reconciler
from ofapp.openflow.switch.program import program
from ofapp.openflow.switch.queue import delivery
from ofapp.openflow.switch.queue.delivery import State
from ofapp.openflow.switch.session import Session
from ofapp.openflow.wire.messages import bundle, codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats
from tests.support.fabric import desired_at, graph
from tests.unit.openflow.messages import messages

MOST_PORTS = 4095
others_turn = ofapp.common.hub.sleep
FEW = 3 * PORTION


class Switch:
    """A switch without meters, and its channel: it holds what it is sent.

    meanwhile: called in each turn, with its number.
    """

    dead = False
    ofproto = ofp
    address = "a test"

    def __init__(self) -> None:
        self.flows: dict[tuple[int, int, bytes], bytes] = {}
        self.groups: dict[int, bytes] = {}
        self.turns = 0
        self.failed: Exception | None = None
        self.meanwhile: Callable[[int], None] = lambda _turn: None

    def fail(self, error: Exception) -> None:
        """The connection would end."""
        self.failed = error

    def turn(self) -> None:
        self.turns += 1
        self.meanwhile(self.turns)

    def set_xid(self, message: Any) -> int:
        message.set_xid(1)
        return 1

    def request(self, *_request: Any) -> None:
        """No task waits for a barrier here."""

    def send(self, data: bytes) -> None:
        for whole in messages(data):
            message = bundle.part(whole) if bundle.is_part(whole) else whole
            if message[1] == ofp.OFPT_GROUP_MOD:
                self._group(message)
            elif message[1] == ofp.OFPT_FLOW_MOD:
                self._flow(message)

    def _group(self, message: bytes) -> None:
        command, number = struct.unpack_from("!8xHxxI", message)
        assert (command == ofp.OFPGC_ADD) is (number not in self.groups), "it is refused"
        if command == ofp.OFPGC_DELETE:
            del self.groups[number]
        else:
            self.groups[number] = message[16:]

    def _flow(self, message: bytes) -> None:
        table, command, priority = struct.unpack_from("!24xBB4xH", message)
        (length,) = struct.unpack_from("!H", message, 50)
        key = table, priority, message[52 : 48 + length]
        if command == ofp.OFPFC_ADD:
            self.flows[key] = message
        elif command == ofp.OFPFC_DELETE_STRICT:
            self.flows.pop(key, None)

    def flow_stats(self) -> Iterator[FlowStats]:
        """Its flows, as it tells of them."""
        for (table, priority, match), message in [*self.flows.items()]:
            cookie, idle, flags = struct.unpack_from("!8xQ10xH16xH", message)
            rest = message[48 + len(match) + 4 + -(len(match) + 4) % 8 :]
            yield FlowStats(table, priority, idle, flags, cookie, 0, match, rest, 0, 0.0)

    def group_stats(self) -> dict[int, Group]:
        """Its groups, likewise."""
        return {number: Group(number, _buckets(data)) for number, data in self.groups.items()}


def _buckets(data: bytes) -> Any:
    found, at = [], 0
    while at < len(data):
        found.append(parser.OFPBucket.parser(data, at))
        at += found[-1].len
    return codec.read_buckets(SimpleNamespace(buckets=found))


class Setting:
    """A bridge, of whose ports every fifth is down, and its switch."""

    def __init__(self, ports: int) -> None:
        self.switch: Any = Switch()
        self.bridge = Bridge(1, BridgeParams())
        self.bridge.set_ports([port(n, n % 5 != 0) for n in range(1, ports + 1)], 0.0)
        self.session = Session(self.switch, self.bridge, lambda _bridge, _notice: None, OWN, False)
        self.installed, self.queue = self.session._installed, self.session._queue

    def look(self) -> None:
        """Bring it in line."""
        counters: Any = SimpleNamespace(take_flows=lambda _flows: [])
        Reconciler(self.session._switch(), counters).reconcile(adopt_static=False)
        self.session._send(self.queue.open())

    def send(self, effects: list[Effect]) -> None:
        self.session.apply(effects)

    def put(self, number: int, up: bool) -> None:
        """A port's link comes or goes."""
        self.send(self.bridge.put_ports([port(number, up)], 1.0))

    def assert_in_line(self) -> None:
        """The switch holds what the bridge wants now, and it is known that it does."""
        wanted = program(self.bridge.desired(), False, GroupNumbers())
        assert set(self.switch.flows.values()) == set(map(codec.add_flow, wanted.flows.values()))
        assert self.switch.group_stats() == wanted.groups
        assert self.installed.program == wanted


OWN: Any = None
"""The session is not started."""


def port(number: int, up: bool) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


@pytest.fixture(autouse=True)
def questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a switch is asked, it answers at once."""
    monkeypatch.setattr(reconciler, "ask_ports", lambda _switch, _heard: [])
    monkeypatch.setattr(reconciler, "fixed_requests", lambda _switch, thorough: [])
    monkeypatch.setattr(reconciler, "bodies", lambda switch: [switch])
    monkeypatch.setattr(reconciler, "read_flow_stats", Switch.flow_stats)
    monkeypatch.setattr(reconciler, "ask_groups", Switch.group_stats)
    monkeypatch.setattr(ofapp.common.hub, "sleep", lambda _seconds: others_turn(0))


def test_no_more_than_a_portion_is_done_before_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: dict[str, int] = dict.fromkeys(("ports", "flows", "buckets"), 0)
    most = dict(done)

    def counted(what: str, function: Any, work: Callable[[Any], int] = lambda _item: 1) -> Any:
        def count(item: Any, *more: Any) -> Any:
            done[what] += work(item)
            most[what] = max(most[what], done[what])
            return function(item, *more)

        return count

    monkeypatch.setattr(pipeline, "port_flows", counted("ports", pipeline.port_flows))
    monkeypatch.setattr(codec, "add_flow", counted("flows", codec.add_flow))
    put = counted("buckets", codec.put_group, lambda group: len(group.buckets))
    monkeypatch.setattr(codec, "put_group", put)
    setting = Setting(MOST_PORTS)
    setting.switch.meanwhile = lambda _turn: done.update(dict.fromkeys(done, 0))
    setting.look()
    assert 0 < most["ports"] <= PORTION
    assert 0 < most["flows"] <= PORTION
    assert 0 < most["buckets"] <= PORTION + 512  # a part of a group is one message
    for flow in [*setting.switch.flows][::3]:
        del setting.switch.flows[flow]
    setting.look()
    assert most["flows"] <= PORTION
    setting.assert_in_line()


@pytest.mark.parametrize("known", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("turn", range(1, 16, 2))
def test_what_changes_meanwhile_is_not_lost(turn: int, known: bool) -> None:
    """Ports go and come, before, while and after they are compared; some flows were deleted."""
    setting = Setting(FEW)
    if known:
        setting.look()
        for flow in [*setting.switch.flows][::3]:
            del setting.switch.flows[flow]

    def change(at: int) -> None:
        if at == turn + before:
            setting.put(1, up=False)
            setting.put(FEW - 2, up=False)
            setting.put(5, up=True)
            setting.put(2, up=False)
            setting.put(2, up=True)

    before, setting.switch.meanwhile = setting.switch.turns, change
    setting.look()
    assert setting.switch.turns > turn + before, "the change came after all of it"
    setting.assert_in_line()


@pytest.mark.parametrize("turns", [1, 3, 40], ids="each {}".format)
@pytest.mark.parametrize("known", [False, True], ids=["first", "again"])
def test_a_bridge_of_many_ports_changes_as_a_whole_in_portions(
    known: bool, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun while it is looked at, whichever of the two is done first."""
    setting = Setting(FEW)
    monkeypatch.setattr(delivery, "CROWDED", 0)
    if known:
        setting.look()

    def change(at: int) -> None:
        if at == before + 5:
            ports = {f"p{n}": PortParams(vlans=access(7)) for n in range(1, FEW)}
            setting.send(setting.bridge.set_params(BridgeParams(ports=ports), 1.0))
            setting.put(7, up=False)
        elif at % turns == 0:
            others_turn(0)

    before, setting.switch.meanwhile = setting.switch.turns, change
    setting.look()
    while setting.queue.waits:
        others_turn(0)
    assert setting.switch.failed is None
    setting.assert_in_line()
    assert len(setting.switch.flows) > MOST_LATE


@pytest.mark.parametrize("known", [False, True], ids=["first", "again"])
def test_a_bridge_that_changes_as_a_whole_is_looked_at_once_more(known: bool) -> None:
    setting = Setting(FEW)
    if known:
        setting.look()

    def change(at: int) -> None:
        if at == before + 5:
            ports = {f"p{n}": PortParams(vlans=access(7)) for n in range(1, FEW)}
            setting.send(setting.bridge.set_params(BridgeParams(ports=ports), 1.0))

    before, setting.switch.meanwhile = setting.switch.turns, change
    setting.look()
    setting.assert_in_line()
    assert len(setting.switch.flows) > MOST_LATE


def test_a_bridge_that_waits_for_other_switches_is_not_compared_with_this_switch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = Setting(FEW)
    setting.look()
    monkeypatch.setattr(reconciler, "AGAIN", (0.0,))
    setting.session.stay_behind(True)
    setting.bridge.put_port(port(1, up=False), 1.0)  # its effects wait
    before = {**setting.switch.flows}
    with pytest.raises(OvertakenError):
        setting.look()
    assert setting.switch.flows == before
    setting.session.stay_behind(False)
    setting.look()
    setting.assert_in_line()
    assert setting.switch.flows != before


def test_a_bridge_that_never_rests_is_brought_in_line_all_the_same() -> None:
    """With every turn some port changes; all that are left alone are mended."""
    setting = Setting(FEW)

    def change(at: int) -> None:
        setting.put(1 + at % 3, up=at % 2 == 0)

    setting.switch.meanwhile = change
    setting.look()
    setting.assert_in_line()
    before = [*setting.switch.flows]
    for flow in before[::3]:
        del setting.switch.flows[flow]
    setting.look()
    own = {comparison.identity(flow) for flow in setting.installed.program.flows.values()}
    touched = {flow for n in (1, 2, 3) for flow in _of_port(setting, n)}
    assert own - set(setting.switch.flows) <= touched


def _of_port(setting: Setting, number: int) -> set[tuple[int, int, bytes]]:
    part = setting.installed.program.parts.get(port_key(number), NOTHING)
    return set(map(comparison.identity, part.flows))


def test_a_configuration_for_many_ports_is_foreseen_done_and_counted_in_portions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No other task had a turn for 0.7 s at 4,095 ports, at each reload and at each dry run."""
    rests: list[None] = []
    monkeypatch.setattr(ofapp.common.hub, "portions", lambda: Portions(lambda: rests.append(None)))
    setting = Setting(FEW)
    setting.look()
    monkeypatch.setattr(delivery, "CROWDED", 0)
    params = BridgeParams(ports={f"p{n}": PortParams(vlans=access(7)) for n in range(1, FEW)})
    foreseen = setting.session.plan(params)
    assert len(rests) > 3 * FEW / PORTION
    rests.clear()
    turns = setting.switch.turns
    changed = setting.session.reconfigure(setting.bridge.set_params(params, 1.0))
    assert setting.queue.state is State.PROGRAMMING
    assert changed().counts() == foreseen.changes.counts()
    assert setting.switch.turns - turns > FEW / PORTION
    assert len(rests) > FEW / PORTION
    setting.assert_in_line()


def test_portions_count_what_is_more_work() -> None:
    rests: list[int] = []
    portions = Portions(lambda: rests.append(len(seen)))
    seen: list[int] = []
    for item in portions.of([1, PORTION, 1, 1], lambda item: item):
        seen.append(item)
    assert rests == [2]
    for item in portions.of(range(PORTION)):
        seen.append(item)
    assert rests == [2, 4 + PORTION - 2]


class MemberSetting(Setting):
    """A member of a fabric, and its switch."""

    def __init__(self, content: Content) -> None:
        super().__init__(3)
        self.fabric = DesiredFabric(9, 1, (1,), (1,), content)
        member: Any = self.bridge
        member.desired_as_of_now = lambda _params=None: lambda _portions: self.desired

    @property
    def desired(self) -> Desired:
        return desired_at(self.bridge, self.fabric)

    def versions(self) -> set[tuple[int, int]]:
        """(table, version) of what the switch has."""
        cookies = [(flow.table, parse_cookie(flow.cookie)) for flow in self.switch.flow_stats()]
        return {
            (table, cookie.serial)
            for table, cookie in cookies
            if cookie is not None and cookie.feature == Feature.VERSION
        }


PART = plan(graph((1, 2)))[1]


def test_a_member_keeps_the_versions_that_its_controller_does_not_know() -> None:
    setting = MemberSetting(Content({0: PART}, frozenset(), 0))
    setting.look()
    assert setting.versions() == {(TableId.FABRIC, 0), (TableId.OUTER, 0)}
    before = {*setting.switch.flows}
    # Another controller begins; the flow by which frames enter stays as it is.
    setting.installed.forget()
    setting.queue.state = State.CLOSED
    setting.fabric = replace(setting.fabric, content=Content({1: PART}, frozenset({0}), None))
    setting.look()
    assert before < {*setting.switch.flows}
    assert setting.versions() == {
        (TableId.FABRIC, 0),
        (TableId.FABRIC, 1),
        (TableId.OUTER, 0),
    }
    assert setting.installed.kept == {0}
    setting.fabric = replace(setting.fabric, content=Content({1: PART}, frozenset({0}), 1))
    setting.look()
    assert (TableId.OUTER, 1) in setting.versions()
    setting.fabric = replace(setting.fabric, content=Content({1: PART}, frozenset(), 1))
    setting.look()
    assert setting.versions() == {(TableId.FABRIC, 1), (TableId.OUTER, 1)}
    assert not setting.installed.kept


@pytest.mark.parametrize(
    "content",
    [
        Content({1: PART}, frozenset({0}), None, silent=True),
        Content({1: PART}, frozenset({7}), None),
    ],
    ids=["silent", "its version is not kept"],
)
def test_frames_enter_by_no_version_that_is_not_to_be_used(content: Content) -> None:
    setting = MemberSetting(Content({0: PART}, frozenset(), 0))
    setting.look()
    setting.installed.forget()
    setting.queue.state = State.CLOSED
    setting.fabric = replace(setting.fabric, content=content)
    setting.look()
    assert TableId.OUTER not in {table for table, _ in setting.versions()}


def test_flows_of_a_fabric_that_were_deleted_are_put_back() -> None:
    setting = MemberSetting(Content({0: PART}, frozenset(), 0))
    setting.look()
    before = dict(setting.switch.flows)
    for flow in [*before]:
        if flow[0] >= TableId.ENTER or flow[0] == TableId.ADMISSION:
            del setting.switch.flows[flow]
    setting.look()
    assert setting.switch.flows == before
