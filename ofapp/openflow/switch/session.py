"""One switch while it is connected: what it says goes to its bridge, what follows goes back.

Everything runs on one thread and yields only while it waits for the switch, so no state changes
between deciding and sending.  Protocol frames are handled where they stand in the stream; the
sightings of new hosts that arrived with them come after.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import used_lists
from ofapp.bridge.effects import (
    NOTICES,
    Barrier,
    Effect,
    InLine,
    LookAgain,
    Notice,
    SendFrame,
)
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.learning import Sample
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.rates import Load
from ofapp.common import hub
from ofapp.openflow.switch.acl_counters import AclCounters
from ofapp.openflow.switch.counters import Counters
from ofapp.openflow.switch.grace import grace, until_barrier
from ofapp.openflow.switch.intake import Intake
from ofapp.openflow.switch.ownership import RENEWAL, Ownership
from ofapp.openflow.switch.pace import Pace, spread
from ofapp.openflow.switch.port_status import heed
from ofapp.openflow.switch.program import Changes, difference
from ofapp.openflow.switch.rates import MeterWatch, Policer
from ofapp.openflow.switch.reconciler import Reconciler
from ofapp.openflow.switch.removals import Removals
from ofapp.openflow.switch.sweep import Occasion
from ofapp.openflow.switch.sweeper import Sweeper
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.codec import serialize
from ofapp.openflow.wire.flow_removed import Expired
from ofapp.openflow.wire.portdesc import read_port_status
from ofapp.openflow.wire.refusals import Refusal, Refusals
from ofapp.openflow.wire.requests import PATIENCE, RequestError
from ofapp.openflow.wire.window import Window

LOG = logging.getLogger(__name__)

BACKLOG = 500
"""Sightings that may wait without the switch being too slow for them: a portion or two."""

PAUSE = 1.0
"""Least seconds between two looks at a switch."""

TOGETHER = 0.1
"""Seconds in which deletions are taken for one."""

TRAP_RENEWAL = 0.5
"""Hello times between renewals of the flows that bring BPDUs here: a quarter of their life."""


class Heeds(Protocol):
    """Who carries out what is not for the switch: events, and what has to be remembered."""

    def __call__(self, bridge: Bridge, notice: Notice) -> None: ...


class Session:
    """The shell around one `Bridge` for the life of one connection.

    ownership: whether this controller may look after the switch.
    adopt_static: nobody remembers this bridge's static entries, so take the switch's word.
    `owner` tells in words who else does, None for nobody.
    `in_line` is set once the switch holds what the bridge wants.
    """

    def __init__(
        self,
        channel: Channel,
        bridge: Bridge,
        tell: Heeds,
        ownership: Ownership,
        adopt_static: bool,
    ) -> None:
        self.channel = channel
        self.bridge = bridge
        self.in_line = False
        self.owner: str | None = None
        self._tell = tell
        self._ownership = ownership
        self._adopt_static = adopt_static
        self._counters = Counters(channel, bridge, self.apply)
        self._meters = MeterWatch()
        self._reconciler = Reconciler(
            channel, bridge, self.apply, self._counters, lambda: self._waiting is not None
        )
        self._sweeper = Sweeper(channel, bridge, self.apply, self._until_open)
        self._policer = Policer(bridge.sighting_rate)
        self._refusals = Refusals()
        self._window = Window()
        self._opened = hub.Event()
        self._removals = Removals(bridge.learning)
        self._intake = Intake(self._window, self._learn, channel.counters)
        self._learned: dict[int, int] = {}  # by port, when somebody last asked for the load
        self._protocols_run = False
        self._waiting: list[Effect] | None = None  # for a barrier's reply
        self._unsent: list[Effect] = []
        self._look = hub.Event()
        self._deleted = hub.Event()
        self._reconciling = hub.Lock()
        self._wake = hub.Event()
        self._threads: list[Any] = []

    @property
    def drops(self) -> Counter[str]:
        """Frames the pipeline has dropped, by rule, as of the last look."""
        return self._counters.drops

    @property
    def held_back(self) -> Mapping[str, Mapping[int, int]]:
        """Frames for the controller that came too fast, by kind and port, as of the last look."""
        return self._meters.dropped

    @property
    def refused(self) -> list[str]:
        """What the switch refuses now, in words."""
        return self._refusals.words

    @property
    def metered(self) -> bool:
        """Whether the switch has meters: without them no rate is kept."""
        return self._reconciler.metered

    @property
    def acl(self) -> AclCounters:
        """What the rules of access lists have done, as of the last look."""
        return self._counters.acl

    def ask_acl_counters(self) -> None:
        """Look again, at these counters alone; when the switch is silent they stay as they are."""
        if self.in_line and used_lists(self.bridge.params):
            try:
                self._counters.ask_acls(self.metered)
            except (RequestError, ValueError) as error:
                LOG.warning("bridge %s: counters are not up to date: %s", self.bridge.name, error)

    @property
    def sweep_interval(self) -> float:
        """A tenth of the ageing time: how far `updated` and `used` may lag behind."""
        return min(max((self.bridge.params.ageing_time or 600) / 10, 5.0), 60.0)

    def start(self) -> None:
        """Begin, or wait until no other controller looks after the switch; returns at once."""
        self._threads = [self._spawn(self._own)]

    def _spawn(self, loop: Callable[[], None]) -> Any:
        """Whose end by an error ends the connection: the switch comes again, and gets a new one."""
        return hub.watch(self.channel.fail, loop)

    def stop(self) -> None:
        """The connection is over."""
        if self.channel.listener is self:
            self._ownership.release()
        self.channel.listener = None
        self.in_line = False
        self.bridge.pause(time.monotonic())
        for thread in self._threads:
            hub.kill(thread)

    def alive(self, patience: float) -> bool:
        """Whether the switch answers an echo request within `patience` seconds."""
        answered = hub.Event()
        request = parser.OFPEchoRequest(self.channel, b"ofapp: are you there?")
        xid = self._ask(request, lambda _reply: answered.set())
        try:
            return bool(answered.wait(patience))
        finally:
            self.channel.end_request(xid)

    def load(self, seconds: float) -> Load:
        """What came of its sightings in the time since this was asked last."""
        intake, was = self._intake, self._learned
        self._learned = now = dict(self.bridge.fdb.learned_by_port)
        if not intake.seen:
            return Load(seconds, {}, {}, busy=len(intake) > BACKLOG)
        seen, intake.seen = intake.seen, Counter()
        learned = {port: max(now.get(port, 0) - was.get(port, 0), 0) for port in seen}
        done = sum(learned.values())
        return Load(seconds, seen, learned, busy=len(intake) > max(done, BACKLOG))

    def look_soon(self) -> None:
        """Look at the switch as soon as may be: the bridge wants other flows there than before."""
        self._look.set()

    # Parameters

    def plan(self, params: BridgeParams) -> Changes:
        """What other parameters would change in the switch, but for what protocols do then."""
        writer = self._reconciler.writer
        return difference(writer.held, writer.wanted(self.bridge.desired(params)))

    def reconfigure(self, effects: list[Effect]) -> Changes:
        """Carry a change out; gives what it changed in the switch, whose state is then checked.

        What has to wait for the switch (a barrier) is not in it.
        """
        writer = self._reconciler.writer
        before = writer.held.copy()
        if self._reconciler.writes and used_lists(self.bridge.params):
            self._counters.save_acls()
        self.apply(effects)
        self.look_soon()
        return difference(before, writer.held)

    # Effects

    def apply(self, effects: list[Effect]) -> None:
        """Carry effects out, in order, and tell the events among them."""
        for effect in effects:
            if type(effect) in NOTICES:
                self._tell(self.bridge, effect)  # type: ignore[arg-type]
            elif type(effect) is LookAgain:
                self._look.set()
        if self._waiting is not None:
            self._waiting += effects
        elif self._reconciler.writes:
            self._send(effects)
        else:  # the switch gets states as it is brought in line, but a frame only now
            self._unsent += [effect for effect in effects if isinstance(effect, SendFrame)]
        self._wake.set()

    def _send(self, effects: list[Effect]) -> None:
        if not self._window.is_open:
            effects = self._removals.put_off(effects)
        effects, waiting = until_barrier(effects)
        messages = self._reconciler.writer.write(effects)
        self.channel.send(messages)
        if waiting is not None:
            self._waiting = waiting
            sent = time.monotonic()
            self._ask_barrier(lambda: self._closed(time.monotonic() - sent))
        elif self._window.sent(len(messages)):
            mark, asked = self._window.mark(), time.monotonic()
            self._ask_barrier(lambda: self._answered(mark, asked))

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once the switch has carried out all; False when something waits."""
        if self._waiting is not None or not self._reconciler.writes:
            return False
        self._ask_barrier(done)
        return True

    def _closed(self, answered: float) -> None:
        """The switch has carried out what closes ports; others hear of it when it has effect."""
        hub.spawn_after(grace(answered), self._passed)

    def _passed(self) -> None:
        if self.channel.listener is not self:
            return  # the connection has ended
        effects, self._waiting = self._waiting or [], None
        self._send(effects)

    def _answered(self, mark: int, asked: float) -> None:
        self._window.answered(mark, asked, time.monotonic())
        if self._window.is_open:
            self._opened.set()
            self._catch_up()

    def _until_open(self) -> None:
        """Wait until the switch has answered enough to be told more; RequestError."""
        self.channel.drained()
        while not self._window.is_open:
            self._opened.clear()
            if not self._opened.wait(PATIENCE) and not self.channel.behind:
                raise RequestError(f"no answer to a barrier within {PATIENCE:.0f} s")

    def _ask_barrier(self, passed: Callable[[], None]) -> None:
        def on_reply(_reply: bytes) -> None:
            self.channel.end_request(xid)
            passed()

        xid = self._ask(parser.OFPBarrierRequest(self.channel), on_reply)

    def _ask(self, message: Any, on_reply: Callable[[bytes], None]) -> int:
        xid = int(self.channel.set_xid(message))
        self.channel.request(xid, serialize(message), on_reply)
        return xid

    # What the channel says, on its thread

    def on_learned(self, samples: list[tuple[int, int, int]], expired: list[Expired]) -> None:
        """Addresses were seen, others aged out."""
        learning = self.bridge.learning
        effects: list[Effect] = []
        for notice in expired:
            effects += learning.expired(*notice)
        if effects:
            self.apply(effects)
        if not self._reconciler.metered:
            samples = self._policer.admit(samples, time.monotonic())
        self._intake.take_in(samples)

    def _learn(self, samples: list[Sample]) -> None:
        if effects := self.bridge.learning.learn(samples, time.monotonic()):
            self.apply(effects)

    def _catch_up(self) -> None:
        """Learn what was held back and remove what was put off, as far as the window allows."""
        self._intake.answered()
        while self._window.is_open and (self._intake or self._removals):
            if self._removals:
                self.apply(self._removals.take(self._window.hosts))
            self._intake.learn_some()

    def on_deleted(self) -> None:
        """A flow of ours is gone: whether it was our doing is known by how many are to go."""
        writer = self._reconciler.writer
        if writer.removed:
            writer.removed -= 1
        else:
            self._deleted.set()

    def on_refused(self, refusal: Refusal) -> None:
        """The switch refused something: the next look finds out what is missing.

        A bundle is refused as a whole, so addresses are told one by one for a while.
        """
        if refusal.learned:
            self._reconciler.writer.bundles = False
        for event in self._refusals.add(refusal, time.monotonic()):
            self._tell(self.bridge, event)
        if refusal.holds:
            self.in_line = False
            self._look.set()

    def on_bpdus(self, frames: list[tuple[int, bytes]]) -> None:
        """BPDUs arrived, together, on these ports, where spanning tree runs."""
        self.apply(self.bridge.bpdus(frames, time.monotonic()))

    def on_snooped(self, port: int, frame: bytes) -> None:
        """An IGMP, MLD, PIM or MRD frame arrived; nobody else forwards it."""
        self.apply(self.bridge.snooped(port, frame, time.monotonic()))

    def on_port_news(self, messages: list[bytes]) -> None:
        """Ports were added, changed or removed."""
        news = []
        for message in messages:
            try:
                news.append(read_port_status(message))
            except ValueError:
                self.channel.counters["malformed_messages"] += 1
        heed(self.bridge, news, time.monotonic(), self.apply)

    def on_lag(self, lags: bool) -> None:
        """The switch says more than can be done in its share of the time; or not any more."""
        if lags:
            message = "the switch says more than its share of the controller can take: it waits"
            self._tell(self.bridge, Event("openflow.lag", message, Severity.WARNING))
        else:
            message = "what the switch has said is done"
            self._tell(self.bridge, Event("openflow.lag.cleared", message))

    def on_fault(self, error: Exception) -> None:
        """Something has ended by an error, and with it the connection."""
        message = f"the connection is ended and begins anew, for an error: {error!r}"
        self._tell(self.bridge, Event("openflow.fault", message, Severity.ERROR))

    # What happens by itself

    def _own(self) -> None:
        self._await_turn()
        self.bridge.resume(time.monotonic())
        self.channel.listener = self
        self._threads.append(self._spawn(self._keep_in_line))
        while True:
            hub.sleep(RENEWAL)
            self._ownership.renew(self._lost)

    def _await_turn(self) -> None:
        """Hold still while another controller looks after the switch."""
        while True:
            try:
                other = self._ownership.acquire()
            except (RequestError, ValueError) as error:
                LOG.warning("bridge %s: whose is the switch? %s", self.bridge.name, error)
                other = self.owner or "the switch does not say"
            if other is None:
                break
            if self.owner is None:
                message = f"{other} looks after the switch: this one holds still until it goes"
                event = Event("bridge.standby", message, Severity.WARNING, data={"owner": other})
                self._tell(self.bridge, event)
            self.owner = other
            hub.sleep(RENEWAL)
        if self.owner is not None:
            message = f"{self.owner} has gone: this one looks after the switch now"
            event = Event("bridge.takeover", message, data={"owner": self.owner})
            self._tell(self.bridge, event)
            self.owner = None

    def _lost(self) -> None:
        """Another controller took the switch over while this one was away for too long."""
        message = "another controller has taken the switch over: this one lets go of it"
        self._tell(self.bridge, Event("bridge.lost", message, Severity.WARNING))
        self.channel.close()  # the switch comes again, and finds who it is then

    def _keep_in_line(self) -> None:
        occasion, pause = Occasion.CONNECTED, PAUSE
        while self.channel.send_q is not None:
            try:
                self._bring_in_line(occasion)
                occasion = Occasion.ROUTINE
            except (RequestError, ValueError) as error:
                self.channel.counters["failed_sweeps"] += 1
                LOG.warning("bridge %s: %s; trying again", self.bridge.name, error)
            pause = PAUSE if self._refusals.in_line else min(2 * pause, self.sweep_interval)
            self._look.wait(spread(self.sweep_interval))
            self._look.clear()
            hub.sleep(pause)  # a switch that refuses everything is not asked without end

    def _bring_in_line(self, occasion: Occasion) -> None:
        if occasion is Occasion.CONNECTED:
            self._reconciler.prepare()
        began = time.monotonic()
        with self._reconciling:
            known = self._reconciler.reconcile(self._adopt_static)
        self._adopt_static = False
        if not self._protocols_run:
            self._run_protocols()
        if occasion is Occasion.CONNECTED and not known and self.bridge.fdb.learned:
            occasion = Occasion.RESTARTED
        self._sweeper.sweep(occasion, self._reconciler.writer)
        stats = self._counters.ask_meters() if self.metered else []
        self.apply([*self._meters.observe(self._policer.dropped, stats)])
        for event in self._refusals.looked(began, time.monotonic()):
            self._tell(self.bridge, event)
        self._reconciler.writer.bundles = self._refusals.takes_addresses
        self._intake.opened = True
        self._catch_up()
        if not self.in_line and self._refusals.in_line:
            self.in_line = True
            self._tell(self.bridge, Event("bridge.ready", "the switch is in line"))
            self._tell(self.bridge, InLine())

    def _run_protocols(self) -> None:
        """As soon as their frames can come and go; a large FDB may take seconds to look at."""
        self._protocols_run = True
        unsent, self._unsent = self._unsent, []
        self.apply([Barrier(), *unsent, *self.bridge.go_on_stp(time.monotonic())])
        self._threads += map(self._spawn, (self._tick, self._renew_traps, self._put_back))

    def _put_back(self) -> None:
        """What somebody else deletes: at once, and not with the next look at everything.

        A switch does not tell who deleted a flow, so there may be nothing to do.
        """
        pace, counters = Pace(), self.bridge.learning.counters
        while True:
            self._deleted.wait()
            hub.sleep(TOGETHER)
            self._deleted.clear()
            before = counters["mended"]
            try:
                with pace.resting(), self._reconciling:
                    self._reconciler.reconcile(adopt_static=False)
            except (RequestError, ValueError) as error:
                LOG.warning("bridge %s: %s; the next look will tell", self.bridge.name, error)
            if counters["mended"] > before:
                self.look_soon()

    def _tick(self) -> None:
        while True:
            due = self.bridge.next_wakeup()
            self._wake.wait(None if due is None else max(due - time.monotonic(), 0))
            self._wake.clear()
            due, now = self.bridge.next_wakeup(), time.monotonic()
            if due is not None and due <= now:
                self.apply(self.bridge.tick(now))

    def _renew_traps(self) -> None:
        while True:
            if flows := self._reconciler.writer.trap_bpdus():
                self.channel.send(flows)
            stp = self.bridge.params.stp
            hub.sleep(TRAP_RENEWAL * (stp.hello_time if stp else 1.0))
