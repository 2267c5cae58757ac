"""A bridge's effects on their way to its switch: in order, and no more than the switch takes.

What is behind a barrier waits until the switch has carried out what is before it, and its datapath
has had the time to follow (`grace`).  Deletes that can wait do so while the switch is busy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.effects import Effect, Reprogram, SendFrame
from ofapp.bridge.fdb.learned_addresses import LearnedAddresses
from ofapp.common import hub
from ofapp.common.weakly import weakly
from ofapp.openflow.switch.audit.grace import grace, until_barrier
from ofapp.openflow.switch.queue.deferred_deletes import DeferredDeletes
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.flow_control import FlowControl
from ofapp.openflow.wire.main_thread import MainThread
from ofapp.openflow.wire.requests import PATIENCE, RequestError, ask_once

MOST_WAITING = 1 << 16
"""Effects that may wait for a barrier: more than all ports of a bridge can bring about at once."""


class OverrunError(Exception):
    """The bridge changes faster than its switch confirms: the connection is ended."""


class Way(Enum):
    """State of the path to the switch."""

    SHUT = "it is not known what the switch holds: states and frames are sent once it is"
    HELD = "all that the bridge wanted is being sent; later effects wait, but for frames"
    OPEN = "effects are sent as they come"
    BARRIER = "they wait for the answer to a barrier"
    WORK = "they wait until the switch's new program is computed, in portions"
    ENDED = "the connection is over"


@dataclass(frozen=True, slots=True)
class Writing:
    """Functions that encode effects.

    reprogramming: gives a function that makes the messages of a `Reprogram` as of now, in portions
    between which others have their turn; crowded: whether the bridge has enough ports for that.
    """

    write: Callable[[list[Effect]], bytes]
    reprogramming: Callable[[], Callable[[], bytes]]
    crowded: Callable[[], bool]


class Delivery:
    """Delivery of effects on one connection.

    window: what the switch takes at a time; removals: those that can wait.
    ready: called whenever more may be sent; thread: what the switch's bridges share.
    """

    def __init__(
        self,
        channel: Channel,
        addresses: LearnedAddresses,
        writing: Writing,
        ready: Callable[[], None],
        thread: MainThread | None = None,
    ) -> None:
        self.window = FlowControl(thread, weakly(self._turn_came))
        self.removals = DeferredDeletes(addresses)
        self.way = Way.SHUT
        self._channel = channel
        self._writing = writing
        self._ready = ready
        self._waiting: list[Effect] = []  # for a barrier's reply, or until the way is open
        self._unsent: list[Effect] = []  # frames, until the way is open
        self._opened = hub.Event()
        self._passes = hub.Event()

    def send(self, effects: list[Effect]) -> None:
        """Carry effects out, now or in their turn."""
        match self.way:
            case Way.OPEN:
                self._send(effects)
            case Way.BARRIER | Way.WORK:
                self._wait(effects)
            case Way.HELD:
                self._keep_frames(effects)
                self._wait([effect for effect in effects if not isinstance(effect, SendFrame)])
            case Way.SHUT:
                self._keep_frames(effects)

    def open(self) -> None:
        """The switch holds what effects build on."""
        match self.way:
            case Way.SHUT:
                self.way = Way.OPEN
            case Way.HELD:
                effects, self._waiting, self.way = self._waiting, [], Way.OPEN
                self._send(effects)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold effects back while a new switch is programmed; the way is open after that."""
        if self.way is Way.SHUT:
            self.way = Way.HELD
        try:
            yield
        except BaseException:
            if self.way is Way.HELD:
                self._waiting, self.way = [], Way.SHUT
            raise
        self.open()

    def take_unsent(self) -> list[Effect]:
        """The frames that were to be sent before."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def end(self) -> None:
        """The connection is over: what waited is not for the next one."""
        self.way = Way.ENDED
        self.window.end(time.monotonic())
        self._waiting.clear()
        self._unsent.clear()
        self._passes.set()

    @property
    def waits(self) -> bool:
        """Whether effects from earlier are still to be sent to the switch."""
        return self.way in (Way.BARRIER, Way.WORK)

    @property
    def crowded(self) -> bool:
        """Whether the bridge has so many ports that what makes its switch so goes by portions."""
        return self._writing.crowded()

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once the switch has carried out all; False when something waits."""
        if self.way is not Way.OPEN:
            return False
        self._ask_barrier(done)
        return True

    def await_barrier(self, patience: float = PATIENCE) -> None:
        """Let what waits for a barrier have its turn: what is asked next is done at once then."""
        if self.waits:
            self._passes.clear()
            self._passes.wait(patience)

    def drain(self) -> None:
        """Wait until the switch has answered enough for more to be sent; RequestError."""
        self._channel.drained()
        while not self.window.is_open:
            self.window.wait()
            self._opened.clear()
            if not self._opened.wait(PATIENCE) and not self._channel.behind:
                raise RequestError(f"no answer to a barrier within {PATIENCE:.0f} s")

    # Inside

    def _keep_frames(self, effects: list[Effect]) -> None:
        self._unsent += [effect for effect in effects if isinstance(effect, SendFrame)]

    def _wait(self, effects: list[Effect]) -> None:
        self._waiting += effects
        if len(self._waiting) > MOST_WAITING:
            self.end()
            error = OverrunError("the bridge changes faster than its switch confirms")
            self._channel.fail(error)

    def _send(self, effects: list[Effect]) -> None:
        if not self.window.is_open:
            effects = self.removals.put_off(effects)
        effects, waiting = until_barrier(effects)
        if self.crowded and Reprogram() in effects:
            self._work(effects)
            return
        messages = self._writing.write(effects)
        self._channel.send(messages)
        if waiting is not None:
            self.way, self._waiting = Way.BARRIER, waiting
            sent = time.monotonic()
            self._ask_barrier(lambda: self._closed(time.monotonic() - sent), urgent=True)
        elif self.window.sent(len(messages)):
            asked = time.monotonic()
            mark = self.window.mark(asked)
            self._ask_barrier(lambda: self._answered(mark, asked))

    def _work(self, effects: list[Effect]) -> None:
        """Send effects with a `Reprogram` and without a barrier: effects after the first
        `Reprogram` wait for it, and further ones are dropped."""
        at = effects.index(Reprogram())
        self._channel.send(self._writing.write(effects[:at]))
        self.way = Way.WORK
        self._waiting = [effect for effect in effects[at:] if effect != Reprogram()]
        hub.watch(self._channel.fail, self._reprogram, self._writing.reprogramming())

    def _reprogram(self, work: Callable[[], bytes]) -> None:
        messages = work()
        if self.way is Way.WORK:
            self._channel.send(messages)
            self._go_on()

    def _closed(self, answered: float) -> None:
        """The switch has carried out what closes ports; others hear of it when it has effect."""
        hub.spawn_after(grace(answered), self._passed)

    def _passed(self) -> None:
        if self.way is Way.BARRIER:
            self._go_on()

    def _go_on(self) -> None:
        effects, self._waiting, self.way = self._waiting, [], Way.OPEN
        self._send(effects)
        self._passes.set()

    def _answered(self, mark: int, asked: float) -> None:
        self.window.answered(mark, asked, time.monotonic())
        if self.window.is_open:
            self._opened.set()
            self._ready()

    def _turn_came(self) -> None:
        """Go on, in a separate greenlet, after other bridges of the ovs-vswitchd were served."""
        hub.watch(self._channel.fail, self._take_turn)

    def _take_turn(self) -> None:
        self._channel.turn()
        if self.way is not Way.ENDED:
            self._opened.set()
            self._ready()
        self.window.unused(time.monotonic())

    def _ask_barrier(self, passed: Callable[[], None], urgent: bool = False) -> None:
        request = parser.OFPBarrierRequest(self._channel)
        ask_once(self._channel, request, lambda _reply: passed(), urgent)
