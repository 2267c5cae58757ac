"""A bridge's effects on their way to its switch: in order, and no more than the switch takes.

The queue is asked and calls nothing: it gives the batch that may be sent now, and what must happen
before the next one.  What is behind a barrier waits until the switch has carried out what is before
it, and its datapath follows (see `revalidation`).  Deletes that can wait do so while the switch is
busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import islice
from typing import NamedTuple

from ofapp.bridge.effects import (
    Barrier,
    Effect,
    ForwardFrame,
    RemoveDestination,
    Reprogram,
    SendFrame,
)
from ofapp.openflow.switch.switch_bridge import SwitchAddresses, SwitchBridge
from ofapp.openflow.wire.flow_control import FlowControl

MOST_WAITING = 1 << 16
"""Effects that may wait for a barrier: more than all ports of a bridge can bring about at once."""

CROWDED = 256
"""Ports from which on the whole program of a switch is computed in portions."""

_FRAMES = (SendFrame, ForwardFrame)


class OverrunError(Exception):
    """The bridge changes faster than its switch confirms: the connection has to end."""


class State(Enum):
    """State of the queue."""

    CLOSED = "it is not known what the switch holds: states and frames are sent once it is"
    HELD = "all that the bridge wanted is being sent; later effects wait, but for frames"
    OPEN = "effects are sent as they come"
    BARRIER = "they wait for the answer to a barrier"
    PROGRAMMING = "they wait until the switch's new program is computed, in portions"
    ENDED = "the connection is over"


class Batch(NamedTuple):
    """Effects that may be sent now.

    then: OPEN; or what has to be done after them, and reported to `DeliveryQueue.done`: BARRIER,
    ask the switch for a barrier; PROGRAMMING, compute the switch's program and send it.
    """

    effects: list[Effect]
    then: State


class DeferredDeletes:
    """Deletes of destination halves, deferred while a switch is busy.

    When a hundred thousand hosts fall silent together their source halves expire together, and so
    many deletes at once would keep a switch from sending a hello for seconds.  A destination half
    without its source half is harmless, so it may wait.

    Of two deletes for one address only the later can match its flow.
    """

    def __init__(self, addresses: SwitchAddresses) -> None:
        self._addresses = addresses
        self._waiting: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put_off(self, effects: list[Effect]) -> list[Effect]:
        """Keep the removals among them for later; gives the others."""
        others = []
        for effect in effects:
            if type(effect) is RemoveDestination:
                self._waiting[effect.vid, effect.mac] = effect.serial
            else:
                others.append(effect)
        return others

    def take(self, count: int) -> list[Effect]:
        """The first `count` of them, except those of addresses learned again since."""
        effects: list[Effect] = []
        for vid, mac in list(islice(self._waiting, count)):
            serial = self._waiting.pop((vid, mac))
            if not self._addresses.installed(vid, mac):
                effects.append(RemoveDestination(vid, mac, serial))
        return effects


class DeliveryQueue:
    """Effects of one bridge on one connection.

    deletes: those that can wait; flow: how much the switch takes.
    ahead: the bridge has effects for this switch that wait for other switches.
    """

    def __init__(self, bridge: SwitchBridge, flow: FlowControl) -> None:
        self.deletes = DeferredDeletes(bridge.addresses)
        self.state = State.CLOSED
        self.ahead = False
        self._ports = bridge.ports
        self._flow = flow
        self._waiting: list[Effect] = []  # for a barrier's reply, or until it is open
        self._unsent: list[Effect] = []  # frames, until it is open

    def put(self, effects: list[Effect]) -> Batch | None:
        """Queue effects, and give the batch that may be sent now.  Raises OverrunError."""
        match self.state:
            case State.OPEN:
                return self._next(effects)
            case State.BARRIER | State.PROGRAMMING:
                self._wait(effects)
            case State.HELD:
                self._keep_frames(effects)
                self._wait([effect for effect in effects if not isinstance(effect, _FRAMES)])
            case State.CLOSED:
                self._keep_frames(effects)
        return None

    def done(self, what: State) -> Batch | None:
        """The batch that may be sent now that the switch has done this: see `Batch.then`."""
        if self.state is not what:
            return None
        effects, self._waiting, self.state = self._waiting, [], State.OPEN
        return self._next(effects)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold effects back while a new switch is programmed; `open` is to follow."""
        if self.state is State.CLOSED:
            self.state = State.HELD
        try:
            yield
        except BaseException:
            if self.state is State.HELD:
                self._waiting, self.state = [], State.CLOSED
            raise

    def open(self) -> Batch | None:
        """The batch that may be sent now that the switch holds what effects build on."""
        if self.state is State.CLOSED:
            self.state = State.OPEN
        return self.done(State.HELD)

    def take_unsent(self) -> list[Effect]:
        """The frames that were to be sent before."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def end(self) -> None:
        """The connection is over: what waited is not for the next one."""
        self.state = State.ENDED
        self._waiting.clear()
        self._unsent.clear()

    @property
    def waits(self) -> bool:
        """Whether effects from earlier are still to be sent to the switch."""
        return self.state in (State.BARRIER, State.PROGRAMMING)

    @property
    def crowded(self) -> bool:
        """Whether the bridge has so many ports that its program is computed in portions."""
        return len(self._ports) > CROWDED

    # Inside

    def _keep_frames(self, effects: list[Effect]) -> None:
        self._unsent += [effect for effect in effects if isinstance(effect, _FRAMES)]

    def _wait(self, effects: list[Effect]) -> None:
        self._waiting += effects
        if len(self._waiting) > MOST_WAITING:
            self.end()
            raise OverrunError("the bridge changes faster than its switch confirms")

    def _next(self, effects: list[Effect]) -> Batch:
        """Effects after a first `Reprogram` wait for it, where that is work, and further ones are
        dropped."""
        if not self._flow.is_open:
            effects = self.deletes.put_off(effects)
        effects, waiting = until_barrier(effects)
        if waiting is not None:
            self.state, self._waiting = State.BARRIER, waiting
        elif self.crowded and Reprogram() in effects:
            at = effects.index(Reprogram())
            self._waiting = [effect for effect in effects[at:] if effect != Reprogram()]
            effects, self.state = effects[:at], State.PROGRAMMING
        return Batch(effects, self.state)


def until_barrier(effects: list[Effect]) -> tuple[list[Effect], list[Effect] | None]:
    """Split effects: those to send now, and those that wait for the switch's barrier reply.

    A `Reprogram` is sent when no barrier waits any more: the bridge is ahead of its switch, and
    ports would open before others, which must be closed by then, are.  It is sent before the
    effects behind the last barrier, which may need its groups.
    """
    at = next((i for i, effect in enumerate(effects) if type(effect) is Barrier), None)
    if at is None:
        return effects, None
    now, later = effects[:at], effects[at + 1 :]
    if Reprogram() in now:
        now = [effect for effect in now if effect != Reprogram()]
        behind = [at for at, effect in enumerate(later, 1) if type(effect) is Barrier]
        later.insert(behind[-1] if behind else 0, Reprogram())
    return now, later
