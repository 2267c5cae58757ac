"""A switch of a `fabric.Fabric`: cables, what it holds, and its connection to the controller."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, ClosePort, Effect, SendFrame, StateChanged
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.common.portions import AT_ONCE
from ofapp.controller.state.protocols import SPANNING_TREE
from ofapp.controller.state.snapshots import encoded
from ofapp.openflow.switch.queue.revalidation import grace

if TYPE_CHECKING:
    from tests.unit.bridge.stp.fabric import Fabric


@dataclass(frozen=True)
class Delays:
    """Seconds: (least, most) of each kind of delay."""

    work: tuple[float, float] = (0.0001, 0.0005)  # the controller's, for one input
    mend: tuple[float, float] = (0.005, 0.03)  # the controller's, to bring a switch in line
    channel: tuple[float, float] = (0.0001, 0.002)  # a message, one way, and carrying it out
    slow: tuple[float, float] = (0.005, 0.08)  # the same, once in twenty times
    link: tuple[float, float] = (0.00002, 0.0002)
    carrier: tuple[float, float] = (0.0, 0.004)  # until a switch has seen that a link changed
    connect: tuple[float, float] = (0.0, 4.0)  # after the controller is back


@dataclass
class Cable:
    ends: tuple[tuple[int, int], tuple[int, int]]  # (switch, port)
    up: bool = True

    def other(self, end: tuple[int, int]) -> tuple[int, int]:
        return self.ends[1] if self.ends[0] == end else self.ends[0]


@dataclass
class Switch:
    """held: the state of each port, as its flows make it; none for a port without flows.

    passing: the ports that forward; its cache follows its flows a little later.
    """

    number: int
    made: int = 1  # how often; each time its bridge has another address
    cables: dict[int, Cable] = field(default_factory=dict)
    links: dict[int, bool] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)  # when it notices the last change
    held: dict[int, PortState] = field(default_factory=dict)
    passing: set[int] = field(default_factory=set)
    trapped_until: float = 0.0
    session: Session | None = None
    free_at: float = 0.0  # messages arrive in order
    heard_at: float = 0.0
    stalled_from: float = -math.inf
    stalled_until: float = 0.0
    params: BridgeParams = field(default_factory=lambda: BridgeParams(stp=StpParams()))


class Disk:
    """A `SnapshotStore` of trees, without files."""

    document = SPANNING_TREE

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def save(self, datapath_id: int, document: Any) -> None:
        self.texts[datapath_id] = encoded(document, AT_ONCE)

    invalidate = save

    def load(self, datapath_id: int) -> Any:
        return json.loads(self.texts[datapath_id])


class Session:
    """What `openflow.switch.session` and its reconciler do, without OpenFlow."""

    def __init__(self, fabric: Fabric, switch: Switch, bridge: Bridge) -> None:
        self.fabric = fabric
        self.switch = switch
        self.bridge = bridge
        bridge.stp.hear_of_leaving()
        self.writes = False
        self.waiting: list[Effect] | None = None
        self.unsent: list[Effect] = []
        self.wake: float | None = None
        self.inbox: list[tuple[int, bytes]] = []
        self.cut_at = math.inf  # what arrives later is lost

    def apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, StateChanged):
                self.fabric.memory.changed(self.bridge, effect)
        if self.waiting is not None:
            self.waiting += effects
        elif self.writes:
            self.send(effects)
        else:
            self.unsent += [e for e in effects if isinstance(e, SendFrame)]
        if self.writes:
            self.fabric.set_timer(self)

    def send(self, effects: list[Effect]) -> None:
        at = next((i for i, e in enumerate(effects) if isinstance(e, Barrier)), None)
        for effect in effects[:at]:
            if isinstance(effect, SendFrame) and effect.bpdu:
                left = [(port, effect.bpdu) for port in effect.ports]
                self.bridge.stp.bpdus_left(left, self.fabric.now)
            if isinstance(effect, SetPortState | ClosePort | SendFrame):
                carry_out = partial(self.fabric.carry_out, self.switch, effect, self.fabric.now)
                self.fabric.to_switch(self, carry_out)
        if at is not None:
            self.waiting = effects[at + 1 :]
            closed = partial(self.closed, self.fabric.now)
            self.fabric.to_switch(self, lambda: self.fabric.to_controller(self, closed))

    def confirm(self, done: Callable[[], None]) -> bool:
        if self.waiting is not None or not self.writes:
            return False
        self.fabric.to_switch(self, lambda: self.fabric.to_controller(self, done))
        return True

    def closed(self, sent: float) -> None:
        fabric = self.fabric
        fabric.at(fabric.now + grace(fabric.now - sent), lambda: fabric.do(self, self.passed))

    def passed(self) -> None:
        effects, self.waiting = self.waiting or [], None
        self.send(effects)
