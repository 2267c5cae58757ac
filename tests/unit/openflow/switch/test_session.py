"""A session over a list in place of a channel: what is sent, and when."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ofapp.common import hub

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, Effect, Reprogram, SendFrame, SetPortState
from ofapp.bridge.effects.content import PortState
from ofapp.bridge.fdb.learning import Sample
from ofapp.bridge.multicast import SetGroup
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.openflow.model.flow import Meter
from ofapp.openflow.pipeline.admission import takeover_flow
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS
from ofapp.openflow.switch.events import BRIDGE_READY
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.mastership.ownership import ReservedOwnership
from ofapp.openflow.switch.phase import Phase
from ofapp.openflow.switch.program import Program
from ofapp.openflow.switch.queue import delivery
from ofapp.openflow.switch.session import Session
from ofapp.openflow.wire.messages import codec
from tests.support.multicast_frames import packed
from tests.support.waiting import wait_for
from tests.unit.openflow.messages import messages

FRAMES = (b"one", b"two", b"three")
FIRST, SECOND, THIRD = (SendFrame(frozenset({1}), name) for name in FRAMES)


class Recorder(list[bytes]):
    """A channel that records the messages sent; it answers barriers when `answer` is called.

    installed: content of its switch, which is programmed.
    """

    ofproto = ofp
    address = ("192.0.2.1", 4711)
    dead = behind = False
    send_q = object()

    def __init__(self) -> None:
        super().__init__()
        self.counters: Counter[str] = Counter()
        self.listener: Any = None
        self.installed = Installed(metered=True)
        self.failed: list[str] = []
        self._xid = 0
        self.asked: dict[int, Callable[[bytes], None]] = {}

    def send(self, data: bytes) -> None:
        self += messages(data)

    def set_xid(self, message: Any) -> int:
        self._xid += 1
        message.set_xid(self._xid)
        return self._xid

    def request(
        self, xid: int, data: bytes, on_reply: Callable[[bytes], None], _urgent: bool = False
    ) -> None:
        self.asked[xid] = on_reply
        self.send(data)

    def end_request(self, xid: int) -> None:
        self.asked.pop(xid, None)

    def answer(self) -> None:
        """The switch has carried out all."""
        for reply in list(self.asked.values()):
            reply(b"")

    def turn(self) -> None:
        pass

    def drained(self) -> None:
        pass

    def fail(self, error: Exception) -> None:
        self.failed.append(str(error))

    def kinds(self) -> list[int]:
        """The types of the messages sent since this was called last."""
        found = [message[1] for message in self]
        self.clear()
        return found

    def frames(self) -> list[bytes]:
        """The frames sent since this was called last."""
        names = [name for message in self for name in FRAMES if name in message]
        self.clear()
        return names


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "spawn_after", lambda _seconds, function, *given: function(*given))


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What is to happen later, instead of at once."""
    kept: list[Callable[[], None]] = []

    def keep(_seconds: float, function: Callable[..., None], *given: Any) -> None:
        kept.append(partial(function, *given))

    monkeypatch.setattr(hub, "spawn_after", keep)
    return kept


@pytest.fixture
def channel() -> Any:
    return Recorder()


@pytest.fixture
def session(channel: Any) -> Iterator[Session]:
    """A session whose switch is programmed and takes new hosts."""
    made = start(channel)
    yield made
    made.stop()


def start(channel: Any, handled: list[Any] | None = None) -> Session:
    bridge = Bridge(1, BridgeParams())
    bridge.set_ports([Port(number, f"p{number}", number, True) for number in (1, 2)], 0.0)

    def handle(_bridge: Bridge, notice: Any) -> None:
        if handled is not None:
            handled.append(notice)

    ownership = ReservedOwnership(channel, 1)
    made = Session(channel, bridge, handle, ownership, False, channel.installed)
    channel.listener = made
    return made


class Granted:
    """This controller may be master of the switch."""

    def acquire(self) -> None:
        return None

    def renew(self, _lost: Callable[[], None]) -> None:
        pass

    def release(self) -> None:
        pass


@pytest.mark.parametrize("stp", [True, False])
def test_a_controller_that_takes_a_switch_over_stops_bpdus_before_it_asks_for_anything(
    channel: Any, stp: bool
) -> None:
    """A neighbour would take what passes for a direct link to the root."""
    bridge = Bridge(1, BridgeParams(stp=StpParams() if stp else None))
    made = Session(channel, bridge, lambda _bridge, _notice: None, Granted(), False)
    made.start()
    hub.sleep(0)
    hub.sleep(0)
    flows = [each for each in channel if each[1] == ofp.OFPT_FLOW_MOD]
    assert flows == ([codec.add_flow(takeover_flow(2.0))] if stp else [])
    assert len(channel) > len(flows)
    assert channel[: len(flows)] == flows
    made.stop()


def hosts(first: int, count: int, port: int = 1) -> list[Sample]:
    return [(port, 0, 0x020000000000 + number) for number in range(first, first + count)]


def test_a_new_host_is_two_flows_at_once(session: Session, channel: Recorder) -> None:
    session.on_learned(hosts(1, 1), [])
    assert channel.kinds() == [ofp.OFPT_FLOW_MOD] * 2
    session.on_learned(hosts(1, 1), [])
    assert channel.kinds() == []


def test_hosts_that_come_while_the_switch_is_busy_go_together_when_it_has_answered(
    session: Session, channel: Recorder
) -> None:
    session.on_learned(hosts(1, 200), [])
    assert channel.kinds()[-1] == ofp.OFPT_BARRIER_REQUEST
    session.on_learned(hosts(1001, 20), [])
    session.on_learned(hosts(1021, 20), [])
    assert channel.kinds() == []
    assert len(session.bridge.addresses) == 200
    channel.answer()
    assert channel.kinds() != []
    assert len(session.bridge.addresses) == 240


def test_what_is_behind_a_barrier_goes_when_the_switch_has_answered_it(
    session: Session, channel: Recorder
) -> None:
    session.apply([FIRST, Barrier(), SECOND])
    session.apply([THIRD])
    assert not session.confirm(lambda: None)
    assert channel.frames() == [b"one"]
    channel.answer()
    assert channel.frames() == [b"two", b"three"]


def test_a_port_opens_when_its_switch_has_reported_the_flows_of_the_one_that_closed(
    session: Session, channel: Recorder, timers: list[Callable[[], None]]
) -> None:
    """Until then its datapath may forward by what it has cached."""
    session.apply([SetPortState(1, PortState.FORWARDING)])
    session.apply([SetPortState(1, PortState.DISCARDING), Barrier(), FIRST])
    deletions = channel.installed.removed
    assert deletions > 1
    channel.answer()
    stop_waiting = timers.pop()
    for _ in range(deletions):
        assert timers == []
        session.on_deleted()
    assert channel.frames() == []
    timers.pop()()
    assert channel.frames() == [b"one"]
    stop_waiting()
    assert not channel.counters["late_revalidations"]


def test_a_switch_that_does_not_report_them_is_waited_for_half_a_second(
    session: Session, channel: Recorder, timers: list[Callable[[], None]]
) -> None:
    session.apply([SetPortState(1, PortState.FORWARDING)])
    session.apply([SetPortState(1, PortState.DISCARDING), Barrier(), FIRST])
    channel.answer()
    channel.frames()
    timers.pop()()
    assert channel.frames() == [b"one"]
    assert channel.counters["late_revalidations"] == 1
    for _ in range(channel.installed.removed):
        session.on_deleted()
    assert timers == []


def test_a_dry_run_takes_no_group_numbers(session: Session) -> None:
    """Else each plan of a new multicast entry would use up a number on the switch."""
    joined = [SetGroup(0, packed(f"239.1.1.{last}"), None, frozenset({1})) for last in (1, 2)]
    snooping = session.bridge.multicast
    snooping.desired = lambda _params: tuple(joined)  # type: ignore[method-assign]
    planned = [{*session.plan(session.bridge.params).after.groups}]
    joined.reverse()
    planned.append({*session.plan(session.bridge.params).after.groups})
    session.apply([joined[0]])
    joined.pop()
    planned.append({*session.plan(session.bridge.params).after.groups})
    assert planned[0] == planned[1]
    assert planned[2] == planned[0] - {ENTRY_GROUPS + 1}


def test_who_waits_for_a_barrier_goes_on_when_it_is_answered(
    session: Session, channel: Recorder
) -> None:
    assert session._await_barrier() is None  # type: ignore[func-returns-value]  # there is none
    session.apply([Barrier(), SECOND])
    passed: list[bool] = []
    waiting = hub.spawn(lambda: passed.append(session.carried_out(5.0)))
    hub.sleep(0)
    assert not passed
    channel.answer()
    hub.sleep(0)
    channel.answer()
    waiting.wait()
    assert passed == [True]
    assert channel.frames() == [b"two"]


def test_a_switch_confirms_what_it_was_sent(session: Session, channel: Recorder) -> None:
    done: list[str] = []
    session.apply([FIRST])
    assert session.confirm(lambda: done.append("done"))
    assert done == []
    channel.answer()
    assert done == ["done"]


def test_a_switch_whose_bridge_changes_faster_than_it_confirms_is_disconnected(
    session: Session, channel: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "MOST_WAITING", 4)
    session.apply([FIRST, Barrier()])
    session.apply([SECOND] * 4)
    assert channel.failed == []
    session.apply([THIRD])
    assert len(channel.failed) == 1
    channel.answer()
    assert channel.frames() == [b"one"]


def test_a_program_that_is_computed_in_portions_holds_later_effects_back(
    session: Session, channel: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "CROWDED", 0)
    session.apply([FIRST, Reprogram(), SECOND])
    assert channel.frames() == [b"one"]
    wait_for(lambda: any(FRAMES[1] in message for message in channel), "it", sleep=hub.sleep)
    assert [message[1] for message in channel][-1] == ofp.OFPT_PACKET_OUT
    assert len(channel) > 1
    assert channel.frames() == [b"two"]


def test_events_are_handled_and_not_sent(channel: Any) -> None:
    handled: list[Effect] = []
    session = start(channel, handled)
    event = BRIDGE_READY.event("the switch is in line")
    session.apply([event, FIRST])
    assert (handled, channel.frames()) == ([event], [b"one"])
    session.stop()


def _is_of_session(part: object) -> bool:
    """Whether this is an object that a session makes for itself."""
    modules = ("ofapp.openflow.switch.queue", "ofapp.openflow.switch.audit", "ofapp.openflow.wire")
    return type(part).__module__.startswith(modules)


def test_one_that_has_ended_is_not_left_to_the_garbage_collector(channel: Any) -> None:
    session = start(channel)
    session.on_learned(hosts(1, 200), [])
    session.apply([Barrier(), FIRST])
    program = Program(meters={1: Meter(1, 1)})
    channel.installed.holds(program)
    parts = [part for part in vars(session).values() if _is_of_session(part)]
    assert len(parts) > 3
    gone = [*map(weakref.ref, (session, program, *parts))]
    del program, parts
    gc.disable()
    try:
        session.stop()
        channel.asked.clear()  # as `Channel.serve` does in the end
        del session
        assert {part() for part in gone} == {None}
    finally:
        gc.enable()


def test_one_that_waits_for_its_switch_when_it_ends_is_freed_as_well(channel: Any) -> None:
    channel.unread = lambda _count: None
    made = Session(channel, Bridge(1, BridgeParams()), lambda *_notice: None, Granted(), False)
    made.start()
    while made.phase is Phase.STANDBY or not channel:  # the switch is asked for its meters
        hub.sleep(0)
    gone = weakref.ref(made)
    gc.disable()
    try:
        made.stop()
        del made
        hub.sleep(0)
        assert gone() is None
    finally:
        gc.enable()
