"""Effects of the core: values that the caller turns into OpenFlow messages, in list order.

Those created once for every host are NamedTuples, at a third of the cost of a frozen dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from ofapp.bridge.event import Event
from ofapp.bridge.fabric.effects import (
    FlushRemote,
    PutRemote,
    RemoveRemote,
    SetFabric,
    SetShared,
)
from ofapp.bridge.first_hop.binding import BoundHost
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.multicast.effects import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp.effects import SetPortState, TopologyChanged


class InstallEntry(NamedTuple):
    """Put a learned address in the datapath; `old_port` is where it was before, 0 for nowhere."""

    port: int
    vid: int
    mac: int
    serial: int
    old_port: int


class InstallSticky(NamedTuple):
    """The same for an address that does not age."""

    port: int
    vid: int
    mac: int
    serial: int
    old_port: int


class InstallDestination(NamedTuple):
    """Put back only the destination half of a learned address."""

    port: int
    vid: int
    mac: int
    serial: int


class RemoveSource(NamedTuple):
    """Take out the source half of a learned address, if it still has that serial (0: any)."""

    port: int
    vid: int
    mac: int
    serial: int


class RemoveDestination(NamedTuple):
    """Take out the destination half of a learned address, if it still has that serial."""

    vid: int
    mac: int
    serial: int


@dataclass(frozen=True, slots=True)
class PutStatic:
    """An address that neither moves nor ages: static (with a VID) or local (on every VID).

    port None: the port is absent, so frames to the address flood; it is not learned elsewhere.
    forwards: the port is in state forwarding; else frames to the address are dropped (802.1D-2004
    7.7.1).  Always true for a local address.
    """

    mac: int
    vid: int | None
    port: int | None
    forwards: bool = True


@dataclass(frozen=True, slots=True)
class RemoveStatic:
    """The address is an ordinary one again."""

    mac: int
    vid: int | None


@dataclass(frozen=True, slots=True)
class ClosePort:
    """The port is down or gone: nothing of it stays in the datapath."""

    port: int


@dataclass(frozen=True, slots=True)
class SendFrame:
    """Send a complete frame, without FCS, out of ports in any state.

    bpdu: its number, reported when it has been sent (`bridge.stp.bpdus_left`); 0: not a BPDU.
    """

    ports: frozenset[int]
    frame: bytes
    bpdu: int = 0


@dataclass(frozen=True, slots=True)
class ForwardFrame:
    """Forward a frame that a trap has held, as if it had passed the trap's table just now.

    port: of the bridge, by which it came in; frame: as the trap gave it, so with its VLAN's tag.
    """

    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Barrier:
    """Later effects wait until the switch has carried out the earlier ones and forwards by them."""


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The state of a protocol has changed, and is to be stored.

    document: the name of its stored document (`controller.state.documents`).
    valid: what of the stored state is still valid, as JSON-serialisable data; it is stored before
    anything else of the same list is carried out, and the rest is invalid from then on.  None: the
    stored state may be used until it is replaced.
    """

    document: str
    valid: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SpokenFor:
    """The spanning tree runs again after its switch was disconnected."""


@dataclass(frozen=True, slots=True)
class BridgeNamed:
    """The LOCAL port, whose name is the bridge's, is new or has another name."""


@dataclass(frozen=True, slots=True)
class PortRenamed:
    """A port has another name, and so have the entries that are fixed to it."""

    port: int


@dataclass(frozen=True, slots=True)
class InLine:
    """The switch has the desired flows, and the state that only the switch had is read."""


@dataclass(frozen=True, slots=True)
class SetFlood:
    """Set the ports that frames to unknown destinations leave by."""

    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class SetLag:
    """Set the flows and the group of an aggregation."""

    lag: DesiredLag


@dataclass(frozen=True, slots=True)
class SetTrap:
    """Set whether frames of one kind from a port of the switch go to the controller.

    kind: by its name, as in `openflow.model.traps`.
    """

    kind: str
    port: int
    on: bool


@dataclass(frozen=True, slots=True)
class SetBoundHost:
    """Let a host on a guarded port use these addresses and no others; without any it is unknown."""

    host: BoundHost


@dataclass(frozen=True, slots=True)
class Flush:
    """Take all learned addresses out of the datapath: those behind `port`, in `vid`, or all.

    sticky: those that are sticky as well.
    """

    port: int | None = None
    vid: int | None = None
    sticky: bool = False


@dataclass(frozen=True, slots=True)
class SetGate:
    """Drop (closed) or pass frames of unknown sources of a port, or of a VLAN.

    One of `port` and `vid` is None.
    """

    port: int | None
    vid: int | None
    closed: bool


@dataclass(frozen=True, slots=True)
class HoldDown:
    """Drop frames from an address but for those on the port it is known on.

    It ends with `LetGo`, or by a timeout in the switch after `seconds`.  elsewhere: the other port
    on which it was seen; the switch keeps both ports for the next controller.
    """

    vid: int
    mac: int
    seconds: int
    port: int
    elsewhere: int


@dataclass(frozen=True, slots=True)
class LetGo:
    """The end of `HoldDown`."""

    vid: int
    mac: int


@dataclass(frozen=True, slots=True)
class Reprogram:
    """Ports or parameters have changed: the datapath should hold what the bridge wants now."""


@dataclass(frozen=True, slots=True)
class SetRate:
    """Change a port's rate of unknown sources to the controller: see `Bridge.rates`."""

    port: int


@dataclass(frozen=True, slots=True)
class LookAgain:
    """The datapath may lack addresses that it should have: sync it soon."""


@dataclass(frozen=True, slots=True)
class PutPorts:
    """Add or update ports of the bridge: those that aggregations make of the switch's ports."""

    ports: tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class RemovePorts:
    """Remove ports of the bridge, if it has them."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OnMember:
    """An effect on one member of a fabric; ports in it are numbers of that member's switch."""

    member: int
    effect: Effect


@dataclass(frozen=True, slots=True)
class ForFabric:
    """Effects of a fabric's bridge, for all its members; ports in them are those of the bridge."""

    effects: tuple[Effect, ...]


ForBridge = TopologyChanged | PutPorts | RemovePorts
"""Effects of protocols that `Bridge` carries out itself: its callers do not get them."""

Notice = StateChanged | SpokenFor | BridgeNamed | PortRenamed | InLine | ForFabric | Event
"""Effects that do not concern the switch: the manager of all bridges gets them at once."""

NOTICES: frozenset[type] = frozenset(get_args(Notice))

Effect = (
    InstallEntry
    | InstallSticky
    | InstallDestination
    | RemoveSource
    | RemoveDestination
    | PutStatic
    | RemoveStatic
    | SetPortState
    | ClosePort
    | SendFrame
    | ForwardFrame
    | Barrier
    | SetGroup
    | RemoveGroup
    | SetUnregistered
    | SetFlood
    | SetLag
    | SetTrap
    | SetBoundHost
    | Reprogram
    | Flush
    | SetGate
    | HoldDown
    | LetGo
    | SetRate
    | LookAgain
    | OnMember
    | SetFabric
    | SetShared
    | PutRemote
    | RemoveRemote
    | FlushRemote
    | Notice
    | ForBridge
)
