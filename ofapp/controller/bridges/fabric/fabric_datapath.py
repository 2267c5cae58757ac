"""A fabric as the datapath of its bridge: its members' sessions, and what passes between them.

Each member has an ordinary session, whose bridge is the member's view.  What a view returns comes
here as the notice `ForFabric`: it is split by member and sent, step by step.  A member's content
(its flows of the fabric) is stored before it is sent, and confirmed to the fabric.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import DatapathStatus
from ofapp.bridge.effects import (
    NOTICES,
    Effect,
    ForFabric,
    InLine,
    Notice,
    OnMember,
    SendFrame,
)
from ofapp.bridge.effects.fabric import Content, SetFabric
from ofapp.bridge.event import Event, following
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.member.member import MemberBridge
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import PortCount
from ofapp.common import hub
from ofapp.controller.bridges.datapath import Connection
from ofapp.controller.bridges.fabric import summary
from ofapp.controller.bridges.fabric.steps import Steps
from ofapp.controller.bridges.fabric.summary import Changes, Plan
from ofapp.controller.bridges.openflow_datapath import Channel, Ownership, Session
from ofapp.controller.state.document import Store
from ofapp.controller.state.saving import NotSavedError, Ticket

LOG = logging.getLogger(__name__)

SAVE_AGAIN = 0.5
"""Seconds until it is tried again to save what must be saved before members get contents."""

RETRY = 0.005
"""Seconds until a member is asked again to confirm, while something waits there."""

MemberSession = Session[MemberBridge]
Handle = Callable[[Bridge, Notice], None]


class _Sent(NamedTuple):
    """A content on its way to a member.

    number: its number among all that were sent; refused: how often the switch had refused flows
    before.
    """

    number: int
    content: Content
    refused: int


class FabricDatapath:
    """A fabric while at least one of its members is connected; it is kept while none is.

    handle: handles notices of its bridge; store: store of what the fabric has to remember.
    fault: reports an error in one of its loops.
    shared: other controllers may take the fabric over, and know only what is stored.
    """

    def __init__(
        self,
        fabric: Fabric,
        handle: Handle,
        store: Store[dict[str, Any]],
        fault: Callable[[Exception], None],
        shared: bool = False,
    ) -> None:
        self._shared = shared
        self.fabric = fabric
        self.bridge = fabric.bridge
        self._handle = handle
        self._store = store
        self._fault = fault
        self._sessions: dict[int, MemberSession] = {}
        self._steps = Steps()
        self._ahead = False  # steps wait, as the sessions know
        self._contents: dict[int, Content] = {}  # to be sent, by member
        self._uses: dict[int, int | None] = {}  # by member, as sent last
        self._written_contents = 0  # how many
        self._held: dict[int, int] = {}  # the number of the last that a member has confirmed
        self._wake = hub.Event()
        self._changed = hub.Event()  # `_contents` has some
        self._ticks: float | None = None  # when the fabric's next tick is to be
        self._loops: list[Any] = []

    # Members

    @property
    def params(self) -> FabricParams:
        """The fabric's parameters."""
        return self.fabric.params

    def join(self, member: int, channel: Channel, ownership: Ownership) -> MemberSession:
        """Make the session of a member that has connected, which is to be started."""
        view = self.fabric.view(member)
        session = Session(channel, view, partial(self._notice, member), ownership, False)
        session.stay_behind(self._ahead)
        self._sessions[member] = session
        if not self._loops:
            self._loops = [hub.keep(self._fault, loop) for loop in (self._run, self._write)]
        return session

    def leave(self, member: int) -> None:
        """Handle the end of a member's connection, before its session is stopped."""
        del self._sessions[member]
        self._steps.left(member)
        self._contents.pop(member, None)
        self._uses.pop(member, None)
        self.apply(self.fabric.disconnected(member, time.monotonic()))
        self._go_on()
        if not self._sessions:
            self._end_loops()

    @property
    def connected(self) -> Mapping[int, MemberSession]:
        """Sessions of connected members, by number."""
        return self._sessions

    def set_params(self, params: FabricParams) -> None:
        """Apply changed parameters.

        A member whose links are named otherwise connects again: its ports are then sorted again.
        """
        before = self.params.members
        self.apply(self.fabric.set_params(params, time.monotonic()))
        for member, session in [*self._sessions.items()]:
            if before[member - 1].links != params.members[member - 1].links:
                session.channel.hang_up()

    def name(self, member: int) -> str:
        """The name of a member."""
        return self.params.members[member - 1].name

    # Status

    @property
    def channel(self) -> Connection:
        """The connections of all members as one."""
        return summary.Connections([own.channel for _, own in sorted(self._sessions.items())])

    @property
    def in_line(self) -> bool:
        """Whether all connected members hold what the bridge wants."""
        return all(session.in_line for session in self._sessions.values())

    @property
    def port_counters(self) -> summary.PortCounters:
        """Frames, bytes and errors at the bridge's ports."""
        parts = {member: session.port_counters for member, session in self._sessions.items()}
        return summary.PortCounters(parts, self._number)

    @property
    def packet_ins(self) -> Mapping[str, int]:
        """Frames for the controller, by what for, since the present connections began."""
        return summary.total(session.packet_ins for session in self._sessions.values())

    def status(self) -> DatapathStatus:
        """The status of all connected members."""
        parts = {member: session.status() for member, session in self._sessions.items()}
        return summary.status(parts, self.name, self._number)

    def load(self, seconds: float) -> Load | None:
        """Sightings, and how many were learned, since the last call; None: none."""
        loads = ((member, own.load(seconds)) for member, own in self._sessions.items())
        parts = {member: load for member, load in loads if load is not None}
        return summary.load(parts, seconds, self._number)

    def link_counts(self) -> Mapping[str, PortCount]:
        """The latest counters of link ports, by name as in `s1/eth1`."""
        return {
            session.bridge.ports.name(port.name): count
            for session in self._sessions.values()
            for number, port in session.bridge.ports.links.items()
            if (count := session.port_counters.latest.get(number)) is not None
        }

    def alive(self, patience: float) -> bool:
        """Whether a member answers within `patience` seconds."""
        return any(session.alive(patience) for session in [*self._sessions.values()])

    def report_drops(self, now: float) -> None:
        """Emit events for ports that have more new addresses than members take."""
        for session in [*self._sessions.values()]:
            session.report_drops(now)

    def ask_acl_counters(self) -> None:
        """Poll the counters of access lists; of silent members they stay as they are."""
        for session in [*self._sessions.values()]:
            session.ask_acl_counters()

    def write_mark(self, mark: int | None) -> None:
        """Make this the mark of the snapshot that counts."""
        for session in self._sessions.values():
            session.write_mark(mark)

    # Beginning and end

    def start(self) -> None:
        """Members' sessions are started one by one."""

    def announce_end(self) -> None:
        """The controller ends."""
        if any(session.phase.runs for session in self._sessions.values()):
            self.apply(self.bridge.send_last(time.monotonic()))

    def stop(self) -> None:
        """End all sessions."""
        self._end_loops()
        for session in [*self._sessions.values()]:
            session.stop()

    def _end_loops(self) -> None:
        loops, self._loops = self._loops, []
        for loop in loops:
            hub.kill(loop)

    # Effects

    def apply(self, effects: list[Effect]) -> None:
        """Carry effects of the bridge out, in order; notices among them are handled."""
        if all(type(each) is OnMember and type(each.effect) is SendFrame for each in effects):
            self._send_frames(effects)
        elif effects:
            for effect in effects:
                if type(effect) in NOTICES:
                    self._handle(self.bridge, effect)  # type: ignore[arg-type]
            self._steps.put(self.fabric.steps(effects))
            self._go_on()
        self._settle()

    def _send_frames(self, effects: list[Effect]) -> None:
        """Send frames of links, which wait for nothing."""
        for effect in effects:
            assert isinstance(effect, OnMember)
            if effect.member in self._sessions:
                self._sessions[effect.member].apply([effect.effect])

    def _go_on(self) -> None:
        """Send the steps that may be sent now."""
        running = {member for member, own in self._sessions.items() if own.phase.runs}
        while (step := self._steps.next(running)) is not None:
            for member, effects in step.effects.items():
                if effects and member in self._sessions:
                    self._sessions[member].apply(effects)
            for member in step.confirm:
                done = partial(self._confirmed, member, step.number)
                self._ask(self._sessions.get(member), done, in_effect=True)
        if self._ahead == self._steps.idle:
            self._ahead = not self._steps.idle
            for session in self._sessions.values():
                session.stay_behind(self._ahead)
        if self._steps.overrun:
            for member in self._steps.awaited & self._sessions.keys():
                self._sessions[member].channel.close()

    def _confirmed(self, member: int, number: int) -> None:
        self._steps.confirmed(member, number)
        self._go_on()

    def _ask(
        self, session: MemberSession | None, done: Callable[[], None], in_effect: bool
    ) -> None:
        """Call `done` when a member has carried out all; not if it leaves before.

        in_effect: and forwards by it.  Otherwise errors that came before the answer are handled
        before it, too.
        """
        if session is None or session not in self._sessions.values():
            return
        if not session.confirm(done, urgent=in_effect, in_effect=in_effect):
            hub.spawn_after(RETRY, self._ask, session, done, in_effect)

    def _settle(self) -> None:
        """Take up what effects have brought about in the fabric: contents and timers."""
        contents = self.fabric.contents(time.monotonic())
        if contents:
            self._contents.update(contents)
            self._changed.set()
        due = self.fabric.next_wakeup()
        if due is not None and (self._ticks is None or due < self._ticks):
            self._wake.set()

    # Loops

    def _run(self) -> None:
        while True:
            self._ticks = due = self.fabric.next_wakeup()
            self._wake.wait(None if due is None else max(due - time.monotonic(), 0))
            self._wake.clear()
            due, now = self.fabric.next_wakeup(), time.monotonic()
            if due is not None and due <= now:
                self.apply(self.fabric.tick(now))
                hub.pause()

    def _write(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            self.write_contents()

    def write_contents(self) -> None:
        """Send contents to members.

        Before a member uses another version, it is saved which ones are in use.  A version that is
        only installed needs not wait for that.  Where that cannot be saved, a controller that is
        alone goes on: a failed disk must not stop it.  One that may be replaced by others waits, as
        they could use the same version for another plan.
        """
        contents, self._contents = self._contents, {}
        effects = {member: self.fabric.fabric_effect(member) for member in contents}
        sessions = {member: self._sessions.get(member) for member in contents}
        saved, unsaved = self.save(), False
        installed = [at for at, content in contents.items() if content.use == self._uses.get(at)]
        for member in installed:
            self._send_content(member, contents[member], effects[member])
        try:
            saved.wait()
        except NotSavedError as error:  # (an event tells of it)
            LOG.warning("fabric %s: %s", self.params.name, error)
            unsaved = True
        # A member that has connected again meanwhile is asked again, too.
        waiting = {
            at: content
            for at, content in contents.items()
            if at not in installed and self._sessions.get(at) is sessions[at]
        }
        if unsaved and self._shared:
            self._contents = waiting | self._contents
            hub.spawn_after(SAVE_AGAIN, self._changed.set)
            return
        for member, content in waiting.items():
            self._send_content(member, content, effects[member])

    def frames_of(self, member: int, frames: Iterable[SendFrame]) -> list[SendFrame]:
        """Return the frames of the bridge that leave by a member's ports, for its switch."""
        return [
            effect
            for step in self.fabric.steps(frames)
            for effect in step.get(member, ())
            if isinstance(effect, SendFrame)
        ]

    def _send_content(self, member: int, content: Content, effect: SetFabric) -> None:
        """Send a content; the member need not forward by it to confirm it.

        New versions are in no cache, and old ones stay until no cache has them.
        """
        session = self._sessions.get(member)
        if session is not None:
            self._uses[member] = content.use
            self._written_contents += 1
            sent = _Sent(self._written_contents, content, session.refused_contents)
            session.apply([effect])
            self._ask(session, partial(self._holds, session, member, sent), in_effect=False)

    def save(self) -> Ticket:
        """Store what the fabric has to remember."""
        return self._store.save(self.bridge.datapath_id, self.fabric.dump())

    def _holds(self, session: MemberSession, member: int, sent: _Sent) -> None:
        """Handle the end of a content: the switch has carried it out, or has refused it before.

        The confirmation of an earlier one may be late, where it was asked for again.
        """
        if self._sessions.get(member) is not session or sent.number <= self._held.get(member, 0):
            return
        self._held[member], now = sent.number, time.monotonic()
        if session.refused_contents > sent.refused:
            self.apply(self.fabric.refuse(member, now))
        else:
            self.apply(self.fabric.confirm(member, sent.content, now))

    # Notices of members

    def _notice(self, member: int, _view: MemberBridge, notice: Notice) -> None:
        match notice:
            case ForFabric(effects):
                self.apply([*effects])
            case Event():
                self._handle(self.bridge, self._of_bridge(member, notice))
            case InLine():
                if self.in_line:
                    self._handle(self.bridge, notice)
            case _:
                self._handle(self.bridge, notice)

    def _of_bridge(self, member: int, event: Event) -> Event:
        """An event of a member's session, with the bridge's port, and names of the member."""
        port = None if event.port is None else self._number(member, event.port)
        text = event.worded(self.fabric.view(member).ports.known).text
        text = following(f"{self.name(member)}: ", text)
        return Event(event.of, text, event.severity, port, event.data)

    def _number(self, member: int, port: int) -> int | None:
        return self.fabric.number(member, port)

    # Changes

    def plan(self, params: BridgeParams) -> Plan:
        """Return the changes by other parameters, without those that protocols would make later."""
        return Plan([(self.name(m), own.plan(params)) for m, own in self._sessions.items()])

    def reconfigure(self, effects: list[Effect]) -> Callable[[], Changes]:
        """Carry a change out; gives a function that waits for it and gives what it changed."""
        if not effects:
            return Changes
        parts = [
            (self.name(member), session.changes_from_now())
            for member, session in self._sessions.items()
        ]
        self.apply(effects)
        return lambda: Changes([(name, changed()) for name, changed in parts])

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once all members have carried out all; False when something waits."""
        if not self._steps.idle or self._steps.awaited:
            return False
        left = set(self._sessions)

        def one(member: int) -> None:
            left.discard(member)
            if not left:
                done()

        # If one of them has to be asked again, those that were asked confirm in vain.
        return all(
            session.confirm(partial(one, member)) for member, session in self._sessions.items()
        )

    def carried_out(self, patience: float) -> bool:
        """Wait until all members have carried out all; False when one does not answer in time."""
        end = time.monotonic() + patience
        while not self._steps.idle or self._steps.awaited:
            if time.monotonic() >= end:
                return False
            hub.sleep(RETRY)
        return all(
            session.carried_out(max(end - time.monotonic(), 0))
            for session in [*self._sessions.values()]
        )
