"""The shape of every protocol of a bridge.

A protocol gets inputs with their time and returns effects.  The bridge carries out those that
concern it (`Bridge.carry_out`); the others are for the datapath and for people.  Each protocol has
a folder; the only class there that the bridge uses is its subclass of `Protocol` in `on_bridge.py`.

A protocol that is off is the same object, and does nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from ofapp.bridge.effects import Effect, SetAccess
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.relay.granted import Granted
from ofapp.bridge.state import BridgeState
from ofapp.common.portions import AT_ONCE, Portions

Section_co = TypeVar("Section_co", covariant=True)


class Reconfigured(NamedTuple):
    """A change of parameters.  ports: those whose parameters differ: before and now."""

    before: BridgeParams
    ports: Sequence[tuple[Port, PortParams, PortParams]]


class Protocol(Generic[Section_co]):
    """One protocol on one bridge.  Override what it needs; the default does nothing.

    name: also that of its section of `BridgeParams`.
    hears: the kinds of frames that are passed to `hear`.
    on_switch_ports: its ports are the switch's, with the members of aggregations; otherwise they
    are the bridge's, where an aggregation is one port.
    clock: the protocol's time.
    """

    name: ClassVar[str]
    hears: ClassVar[tuple[str, ...]] = ()
    on_switch_ports: ClassVar[bool] = False

    def __init__(self, state: BridgeState) -> None:
        self._state = state
        self.clock = PausableTime()

    @property
    def params(self) -> Section_co | None:
        """Its section of the bridge's parameters; None: it is off."""
        section: Section_co | None = getattr(self._state.params, self.name, None)
        return section

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports, or apply their new name, address, link or part in the bridge."""
        return []

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports."""
        return []

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Remove restored ports that a new connection's list does not have.

        names: names of all ports of the bridge, by number.
        """
        return []

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Apply changed states of ports: whether each forwards, and is an edge."""
        return []

    def change_topology(self, now: float) -> list[Effect]:
        """React to a topology change of spanning tree: hosts may be behind other ports."""
        return []

    def set_access(self, access: SetAccess, now: float) -> list[Effect]:
        """React to a host that may use a controlled port, or no longer."""
        return []

    # Parameters

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Apply changed parameters; the bridge has the new ones.

        A protocol that is turned on then gets the states of all ports.
        """
        return []

    def apply_policies(self, now: float) -> list[Effect]:
        """Apply changed policies of ports, for example their VLANs."""
        return []

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames that arrived together, each with its port."""
        return []

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        return []

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None when nothing is."""
        return None

    def beat(self, now: float) -> None:
        """Note that the controller runs."""
        self.clock.beat(now)

    # The switch's connection

    def pause(self, now: float) -> None:
        """Pause while the switch is disconnected; `go_on` has to resume the clock."""
        self.clock.pause(now)

    def resume(self, now: float) -> None:
        """Resume after the switch has reconnected; its flows are not known yet."""

    def go_on(self, now: float) -> list[Effect]:
        """Run: the datapath has the flows that the protocol assumes."""
        return []

    def send_last(self, now: float) -> list[Effect]:
        """Send the last frames before the controller ends."""
        return []

    # Values

    def status(self, now: float) -> Any:
        """The state, for display; None where it is off."""
        return None

    def problems(self, now: float) -> Iterable[Problem]:
        """What is wrong now, by the present state."""
        return ()

    def desired(self, params: BridgeParams) -> object:
        """Return a tuple of values that a switch is to hold; None for nothing.

        Each is a frozen value of a kind in `openflow.pipeline.parts`, and an effect when it
        changes.  params: the bridge's, or others for a dry run.
        """
        return None

    def desired_port(self, port: Port, params: BridgeParams) -> object:
        """Return the input of its table builder for one port, hashable; None for nothing."""
        return None

    def granted(self) -> Mapping[str, Granted]:
        """What holds for ports in place of what is configured, by the name of the port.

        The effect `RenewPolicies` says that they have changed.
        """
        return {}

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The state as JSON-serialisable data, for the next process; None for nothing."""
        return None

    def restore(self, data: Any) -> list[str]:
        """Restore a dump before any port is known, paused until `go_on`.

        Returns why parts of it are not restored; ValueError when none is.
        """
        return []
