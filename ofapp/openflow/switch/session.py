"""One switch while it is connected: its messages go to its bridge, the effects go back.

Everything runs on one thread and yields only while it waits for the switch, so no state changes
between deciding and sending.  Protocol frames are handled where they stand in the stream; the
sightings of new hosts that arrived with them come after.
"""

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ofapp.bridge.datapath_status import DatapathStatus
from ofapp.bridge.effects import NOTICES, Barrier, Effect, InLine, InstallEntry, LookAgain, Notice
from ofapp.bridge.event import Event
from ofapp.bridge.fdb.learning import Sample
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.packet.ethernet import without_priority_tag
from ofapp.bridge.params.params import BridgeParams, used_lists
from ofapp.common import hub
from ofapp.common.portions import Portions
from ofapp.openflow.model.trap import Trap
from ofapp.openflow.model.traps import SIGHTING, TRAP_RENEWAL, TRAPS
from ofapp.openflow.pipeline.admission import takeover_flow
from ofapp.openflow.switch.audit.upkeep import Upkeep
from ofapp.openflow.switch.connected import ConnectedSwitch
from ofapp.openflow.switch.counters.ports import PortCounters
from ofapp.openflow.switch.counters.rates import LearningWatch
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.encode.fabric import FABRIC_FEATURES
from ofapp.openflow.switch.events import (
    BRIDGE_LOST,
    BRIDGE_READY,
    OPENFLOW_FAULT,
    OPENFLOW_THROTTLED,
    OPENFLOW_THROTTLED_CLEARED,
)
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.mastership.marks import write_mark
from ofapp.openflow.switch.mastership.ownership import RENEWAL, Ownership, Standby
from ofapp.openflow.switch.phase import Phase, Transition, after
from ofapp.openflow.switch.plan import Plan
from ofapp.openflow.switch.port_status import handle_port_news
from ofapp.openflow.switch.program import Changes, Program, difference, program
from ofapp.openflow.switch.queue.alike import MANY, together
from ofapp.openflow.switch.queue.delivery import Batch, DeliveryQueue, OverrunError, State
from ofapp.openflow.switch.queue.learn_queue import LearnQueue
from ofapp.openflow.switch.queue.revalidation import Revalidation, grace
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.flow_control import FlowControl
from ofapp.openflow.wire.main_thread import MAIN_THREADS
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_removed import Expired
from ofapp.openflow.wire.messages.portdesc import read_port_status
from ofapp.openflow.wire.refusals import Refusal
from ofapp.openflow.wire.requests import PATIENCE, RequestError, answers, ask_once
from ofapp.osken import parser

AnyBridge = TypeVar("AnyBridge", bound=SwitchBridge)
AnyBridge_contra = TypeVar("AnyBridge_contra", bound=SwitchBridge, contravariant=True)


class NoticeHandler(Protocol[AnyBridge_contra]):
    """Handler of effects that are not for the switch: events, and what has to be saved."""

    def __call__(self, bridge: AnyBridge_contra, notice: Notice) -> None: ...


class Turn:
    """The connection's turn at the main thread of its ovs-vswitchd (see `main_thread`).

    came: whether it has come since it was last used; wake: set then.
    """

    def __init__(self, wake: hub.Event) -> None:
        self.came = False
        self._wake = wake

    def __call__(self) -> None:
        self.came = True
        self._wake.set()


class Session(Generic[AnyBridge]):
    """The shell around one bridge for the life of one connection.

    Its parts are asked and call nothing here: none of them leads back to the session, so that all
    is freed when the connection ends.

    ownership: whether this controller may be master of the switch.
    adopt_static: take the bridge's static entries, which no other place has, from the switch.
    installed: what the switch holds, if it is programmed: effects and new hosts go at once.
    port_counters: frames, bytes and errors at its ports; packet_ins: frames for the controller, by
    what for, since this connection began.
    """

    def __init__(
        self,
        channel: Channel,
        bridge: AnyBridge,
        handle: NoticeHandler[AnyBridge],
        ownership: Ownership,
        adopt_static: bool,
        installed: Installed | None = None,
    ) -> None:
        self.channel = channel
        self.bridge = bridge
        self.phase = Phase.STANDBY
        bridge.stp.hear_of_leaving()
        self.port_counters = PortCounters(channel, bridge)
        self.packet_ins: Counter[str] = Counter({trap.name: 0 for trap in TRAPS})
        self._handle = handle
        self._ownership = ownership
        self._standby = Standby(ownership)
        self._wake = hub.Event()
        self._turn = Turn(self._wake)
        self._flow = FlowControl(MAIN_THREADS.of(channel.address), self._turn)
        self._queue = DeliveryQueue(bridge, self._flow)
        self._learn_queue = LearnQueue(self._flow)
        self._installed = Installed() if installed is None else installed
        self._encoder = Encoder(bridge, self._installed)
        self._upkeep = Upkeep(channel, bridge, adopt_static)
        self._opened = hub.Event()  # more may be sent
        self._passed = hub.Event()  # what waited was sent
        self._learning_watch = LearningWatch(bridge.stp.is_edge)
        self._revalidation: Revalidation | None = None  # until deletions are reported
        self._learned: dict[int, int] = {}  # by port, at the beginning of the next load
        self._ticks: float | None = None  # when the bridge's next tick is to be
        self._threads: list[Any] = []
        if installed is not None:
            self._send(self._queue.open())
            self._learn_queue.opened = True

    # Status

    @property
    def in_line(self) -> bool:
        """Whether the switch holds what the bridge wants."""
        return self.phase is Phase.IN_LINE

    def status(self) -> DatapathStatus:
        """Status of the switch."""
        upkeep = self._upkeep
        return DatapathStatus(
            self.in_line,
            self._standby.owner,
            upkeep.refusals.words,
            self._installed.metered,
            upkeep.counters.drops,
            {**upkeep.held_back, "learning": self._learn_queue.dropped},
            upkeep.counters.acl,
            upkeep.counters.answered,
            {**upkeep.limited, "learning": self._learning_watch.limited},
            self.channel.throttled,
            upkeep.refusals.full,
            self._installed.foreign,
            upkeep.polled,
        )

    def ask_acl_counters(self) -> None:
        """Poll these counters alone; when the switch is silent they stay as they are."""
        if self.in_line:
            self.apply(self._upkeep.ask_acl_counters(self._installed.metered))

    def write_mark(self, mark: int | None) -> None:
        """Make this the mark of the snapshot that counts: see `marks`."""
        write_mark(self.channel, mark)

    @property
    def refused_contents(self) -> int:
        """How often the switch has refused flows of a fabric, or several changes at once."""
        changes = self._upkeep.refusals.changes
        return sum(changes[feature] for feature in (*FABRIC_FEATURES, None))

    def alive(self, patience: float) -> bool:
        """Whether the switch answers within `patience` seconds."""
        return answers(self.channel, patience)

    def load(self, seconds: float) -> Load | None:
        """Sightings, and how many were learned, since the last call.

        None when it has seen none and no rate is to go down: of a thousand switches most are quiet.
        """
        queue, was = self._learn_queue, self._learned
        if not queue.seen and not self.bridge.has_raised_rates:
            return None
        self._learned = now = self.bridge.addresses.by_port()
        seen, queue.seen = queue.seen, Counter()
        learned = {port: max(count - was.get(port, 0), 0) for port, count in now.items()}
        return Load(seconds, seen, learned, len(queue))

    def report_drops(self, now: float) -> None:
        """Emit events for ports that have more new addresses than the switch takes."""
        for event in self._learning_watch.look(self._learn_queue.dropped, now):
            self._emit(event)

    def plan(self, params: BridgeParams) -> Plan:
        """Return the changes by other parameters, without those that protocols would make later."""
        portions = hub.portions()
        installed = self._installed
        before, numbers = installed.program.copy(), installed.entries.copy()
        desired = self.bridge.desired_as_of_now(params)(portions)
        after = program(desired, installed.metered, numbers, portions)
        known = (*self.bridge.ports, *self.bridge.lags.physical(self.bridge.ports))
        names = {**desired.names, **{port.number: port.name for port in known}}
        changes = difference(before, after, portions)
        return Plan(before, after, changes, lambda port: names.get(port, str(port)), portions)

    # Beginning and end

    def start(self) -> None:
        """Begin, or wait until no other controller is the switch's master; returns at once."""
        self._threads = [self._spawn(self._own)]

    def _spawn(self, loop: Callable[[], None]) -> Any:
        """Run the loop; an error in it ends the connection, and the switch connects again."""
        return hub.watch(self.channel.fail, loop)

    def announce_end(self) -> None:
        """The controller ends."""
        if self.phase.runs:
            self.apply(self.bridge.send_last(time.monotonic()))

    def stop(self) -> None:
        """The connection is over."""
        if self.phase not in (Phase.STANDBY, Phase.ENDED):
            self._ownership.release()
        self.channel.listener = None
        self._advance(Transition.ENDED)
        self._end_sending()
        self.bridge.pause(time.monotonic())
        for thread in self._threads:
            hub.kill(thread)
        # What is large need not wait for the garbage collector's next look at everything.
        self._threads.clear()
        self._installed.holds(Program())

    def _advance(self, transition: Transition) -> bool:
        """Advance the connection's phase; gives whether it has changed."""
        before, self.phase = self.phase, after(self.phase, transition)
        return self.phase is not before

    def _own(self) -> None:
        for event in self._standby.wait(self.bridge.name):
            self._emit(event)
        self._advance(Transition.OURS)
        if stp := self.bridge.params.stp:
            self.channel.send(codec.add_flow(takeover_flow(stp.hello_time)))
        self.bridge.resume(time.monotonic())
        self.channel.listener = self
        self._threads.append(self._spawn(self._keep_in_line))
        while True:
            stp = self.bridge.params.stp
            hub.sleep(min(RENEWAL, TRAP_RENEWAL * stp.hello_time) if stp else RENEWAL)
            self._ownership.renew(self._lost)
            if self.phase.runs:
                self._renew_presence()

    def _lost(self) -> None:
        """Another controller took the switch over while this one was disconnected for too long."""
        message = "another controller has taken the switch over: this one lets go of it"
        self._emit(BRIDGE_LOST.event(message))
        self.channel.close()  # the switch connects again, and this one is on standby then

    def _keep_in_line(self) -> None:
        for transition in self._upkeep.run(self._switch()):
            if transition is Transition.PROGRAMMED:
                self._programmed()
            else:
                self._checked()

    def _put_back(self) -> None:
        self._upkeep.put_back(self._switch())

    def _switch(self) -> ConnectedSwitch:
        parts = self._installed, self._encoder, self._queue
        return ConnectedSwitch(self.channel, self.bridge, *parts, self.apply, self._drain)

    def _programmed(self) -> None:
        """Protocols run as soon as their frames can come and go; a large FDB may take seconds."""
        self._send(self._queue.open())
        if self._advance(Transition.PROGRAMMED):
            unsent = self._queue.take_unsent()
            now = time.monotonic()
            self.apply([Barrier(), *unsent, *self.bridge.go_on(now)])
            self._renew_presence()
            self._threads += map(self._spawn, (self._run, self._put_back))

    def _renew_presence(self) -> None:
        for portion in self._encoder.renewals():
            self.channel.send(portion)
            self.channel.turn()

    def _checked(self) -> None:
        self._advance(Transition.CHECKED)
        self._learn_queue.opened = True
        self._catch_up()
        self._await_barrier()
        if self._upkeep.refusals.in_line and self._advance(Transition.SOUND):
            self._emit(BRIDGE_READY.event("the switch is in sync"))
            self._handle(self.bridge, InLine())

    # Effects

    def apply(self, effects: list[Effect]) -> None:
        """Carry effects out, in order, and have those carried out that are not for the switch."""
        if len(effects) >= MANY:
            effects = together(effects)
        for effect in effects:
            if type(effect) in NOTICES:
                self._handle(self.bridge, effect)  # type: ignore[arg-type]
            elif type(effect) is LookAgain:
                self._upkeep.check_soon()
        self._deliver(effects)
        self._wake_in_time()

    def _wake_in_time(self) -> None:
        due = self.bridge.next_wakeup()
        if due is not None and (self._ticks is None or due < self._ticks):
            self._wake.set()

    def reconfigure(self, effects: list[Effect]) -> Callable[[], Changes]:
        """Carry a change out; gives a function for what that changed in the switch.

        What has to wait for the switch (a barrier) is not in it.  For a bridge of thousands of
        ports it is computed in portions, and other changes made meanwhile are in it, too.
        """
        if not effects:
            return Changes
        before = self._before_change()
        self.apply(effects)
        if self._queue.crowded:
            return partial(self._changed_since, before)
        changes = difference(before, self._installed.program)
        return lambda: changes

    def changes_from_now(self) -> Callable[[], Changes]:
        """A function that waits for a barrier, and gives what has changed in the switch."""
        return partial(self._changed_since, self._before_change())

    def _before_change(self) -> Program:
        if self._queue.state is not State.CLOSED and used_lists(self.bridge.params):
            self._upkeep.counters.save_acls()
        return self._installed.program.copy()

    def _changed_since(self, before: Program) -> Changes:
        self._await_barrier()
        return difference(before, self._installed.program.copy(), hub.portions())

    def confirm(
        self, done: Callable[[], None], urgent: bool = False, in_effect: bool = False
    ) -> bool:
        """Call `done` once the switch has carried out all; False when something waits.

        urgent: out of turn; in_effect: when the switch also forwards by it, see `revalidation`.
        """
        if self._queue.state is not State.OPEN:
            return False
        asked = time.monotonic()

        def answered() -> None:
            if in_effect:
                hub.spawn_after(grace(time.monotonic() - asked), done)
            else:
                done()

        self._ask_barrier(answered, urgent)
        return True

    def stay_behind(self, ahead: bool) -> None:
        """Compare the switch with its bridge only while the bridge is not ahead of all of it.

        ahead: effects of the bridge wait for other switches before they come here.
        """
        self._queue.ahead = ahead

    def carried_out(self, patience: float) -> bool:
        """Wait until the switch has carried out all; False when it does not answer in time."""
        done = hub.Event()
        self._await_barrier(patience)
        return self.confirm(done.set) and done.wait(patience)

    # Sending

    def _deliver(self, effects: list[Effect]) -> None:
        """Send effects to the switch, now or when it is ready for them."""
        try:
            self._send(self._queue.put(effects))
        except OverrunError as error:
            self._end_sending()
            self.channel.fail(error)

    def _send(self, batch: Batch | None) -> None:
        """Send a batch, and ask the switch for what the next one waits for."""
        if batch is None:
            return
        messages = self._encoder.encode(batch.effects)
        if bpdus := self._encoder.take_bpdus():
            self.bridge.stp.bpdus_left(bpdus, time.monotonic())
            self._wake_in_time()
        self.channel.send(messages)
        if batch.then is State.BARRIER:
            self._ask_barrier(partial(self._on_barrier, time.monotonic()), urgent=True)
        elif batch.then is State.PROGRAMMING:
            hub.watch(self.channel.fail, self._reprogram, self._encoder.reprogramming())
        elif self._flow.sent(len(messages)):
            asked = time.monotonic()
            mark = self._flow.mark(asked)
            self._ask_barrier(lambda: self._on_answer(mark, asked))

    def _on_barrier(self, sent: float) -> None:
        """The switch has carried out what closes ports; others hear of it when it has effect."""
        now = time.monotonic()
        self._revalidation = wait = Revalidation(sent, now)
        if not self._installed.removed:
            self._on_removed()
        else:
            hub.spawn_after(wait.latest - now, self._stop_waiting, wait)

    def _on_removed(self) -> None:
        """The switch has reported all the flows that were deleted."""
        wait, self._revalidation = self._revalidation, None
        if wait is not None:
            hub.spawn_after(wait.rest(time.monotonic()), self._done, State.BARRIER)

    def _stop_waiting(self, wait: Revalidation) -> None:
        if self._revalidation is wait:
            self._revalidation = None
            self.channel.counters["late_revalidations"] += 1
            self._done(State.BARRIER)

    def _reprogram(self, make: Callable[[Portions], bytes]) -> None:
        """Bring the switch in sync as a whole, in portions between which others have their turn."""
        messages = make(Portions(self._rest))
        if self._queue.state is State.PROGRAMMING:
            self.channel.send(messages)
            self._done(State.PROGRAMMING)

    def _rest(self) -> None:
        if self.phase is Phase.ENDED:
            raise hub.GreenletExit
        self.channel.turn()

    def _done(self, what: State) -> None:
        self._send(self._queue.done(what))
        self._passed.set()

    def _on_answer(self, mark: int, asked: float) -> None:
        """The switch has carried out what was sent up to a mark."""
        self._flow.answered(mark, asked, time.monotonic())
        if self._flow.is_open:
            self._go_on()

    def _use_turn(self) -> None:
        """Go on, after other bridges of the same ovs-vswitchd were served."""
        self.channel.turn()
        if self._queue.state is not State.ENDED:
            self._go_on()
        self._flow.unused(time.monotonic())

    def _go_on(self) -> None:
        """Send what waits, as the switch has answered or it is this connection's turn."""
        self._opened.set()
        self._learn_queue.answered()
        self._catch_up()

    def _await_barrier(self, patience: float = PATIENCE) -> None:
        """Let what waits for a barrier have its turn: what is asked next is done at once then."""
        if self._queue.waits:
            self._passed.clear()
            self._passed.wait(patience)

    def _drain(self) -> None:
        """Wait until the switch has answered enough for more to be sent.  Raises RequestError."""
        self.channel.drained()
        while not self._flow.is_open:
            self._flow.wait()
            self._opened.clear()
            if not self._opened.wait(PATIENCE) and not self.channel.behind:
                raise RequestError(f"no answer to a barrier within {PATIENCE:.0f} s")

    def _ask_barrier(self, passed: Callable[[], None], urgent: bool = False) -> None:
        request = parser.OFPBarrierRequest(self.channel)
        ask_once(self.channel, request, lambda _reply: passed(), urgent)

    def _end_sending(self) -> None:
        self._queue.end()
        self._flow.end(time.monotonic())
        self._passed.set()

    def _emit(self, event: Event) -> None:
        self._handle(self.bridge, event)

    # Called by the channel, on its thread

    def on_learned(self, samples: list[tuple[int, int, int]], expired: list[Expired]) -> None:
        """Addresses were seen, others aged out."""
        self.packet_ins[SIGHTING.name] += len(samples)
        effects: list[Effect] = []
        for notice in expired:
            effects += self.bridge.addresses.expired(*notice)
        if effects:
            self.apply(effects)
        if self._learn_queue.quiet:
            self._learned = self.bridge.addresses.by_port()
        now = time.monotonic()
        if not self._installed.metered:
            samples = self._upkeep.policer.admit(samples, now)
        self._learn(self._learn_queue.put(samples, now))
        self._catch_up()

    def on_sampled(self, frames: list[tuple[int, bytes]]) -> None:
        """Read IP addresses from some of the frames by which addresses were seen."""
        if effects := self.bridge.ip_addresses.hear(frames):
            self.apply(effects)

    def _learn(self, samples: list[Sample]) -> None:
        if not samples:
            return
        effects = self.bridge.addresses.learn(samples, time.monotonic())
        if len(effects) == 1 and type(effects[0]) is InstallEntry:
            self._deliver(effects)  # a host that comes alone, and nothing else follows
        elif effects:
            self.apply(effects)

    def _catch_up(self) -> None:
        """Learn what was held back and remove what was put off, as far as the switch takes it."""
        deletes = self._queue.deletes
        while self._flow.is_open and (self._learn_queue or deletes):
            if deletes:
                self.apply(deletes.take(self._flow.hosts))
            self._learn(self._learn_queue.take(time.monotonic()))
        if self._learn_queue or deletes:
            self._flow.wait()

    def on_deleted(self) -> None:
        """A flow of ours is gone: whether this controller did it is known by how many are to go."""
        if self._installed.removed:
            self._installed.removed -= 1
            if not self._installed.removed:
                self._on_removed()
        else:
            self._upkeep.deleted()

    def on_refused(self, refusal: Refusal) -> None:
        """The switch refused something.

        A bundle is refused as a whole, so addresses are sent one by one for a while.
        """
        if refusal.learned:
            self._installed.bundles = False
        if events := self._upkeep.refused(refusal):
            self.apply(events)
        if refusal.holds:
            self._advance(Transition.REFUSED)

    def on_frames(self, trap: Trap, frames: list[tuple[int, bytes]]) -> None:
        """Handle frames of one kind that arrived together, each with its port of the switch."""
        self.packet_ins[trap.name] += len(frames)
        if trap.of_link:
            frames = [(port, without_priority_tag(frame)) for port, frame in frames]
        self.apply(self.bridge.hear(trap.name, frames, time.monotonic()))

    def on_port_news(self, messages: list[bytes]) -> None:
        """Ports were added, changed or removed."""
        news = []
        for message in messages:
            try:
                news.append(read_port_status(message))
            except ValueError:
                self.channel.counters["malformed_messages"] += 1
        handle_port_news(self.bridge, news, time.monotonic(), self.apply)

    def on_throttled(self, throttled: bool) -> None:
        """The switch sends more than its share of the time allows to handle; or no longer."""
        if throttled:
            message = "the switch sends faster than it can be served: its input is throttled"
            self._emit(OPENFLOW_THROTTLED.event(message))
        else:
            message = "the switch's input is handled: it is no longer throttled"
            self._emit(OPENFLOW_THROTTLED_CLEARED.event(message))

    def on_fault(self, error: Exception) -> None:
        """A greenlet has ended by an error, and with it the connection."""
        message = f"the connection is closed because of an error, and made again: {error!r}"
        self._emit(OPENFLOW_FAULT.event(message))

    # Timers

    def _run(self) -> None:
        while True:
            self._ticks = due = self.bridge.next_wakeup()
            self._wake.wait(None if due is None else max(due - time.monotonic(), 0))
            self._wake.clear()
            if self._turn.came:
                self._turn.came = False
                hub.watch(self.channel.fail, self._use_turn)
            due, now = self.bridge.next_wakeup(), time.monotonic()
            if due is not None and due <= now:
                self.apply(self.bridge.tick(now))
                left = self.bridge.next_wakeup()
                if left is not None and left <= now:  # of thousands of ports: others wait, too
                    self.channel.turn()
