"""Effects of the core: values that the caller turns into OpenFlow messages, in list order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from ofapp.bridge.effects.addresses import (
    Flush,
    HoldDown,
    InstallDestination,
    InstallEntry,
    InstallSticky,
    LetGo,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    RemoveStatic,
)
from ofapp.bridge.effects.content import (
    BoundHost,
    DesiredLag,
    RemoveGroup,
    SetGroup,
    SetPortState,
    SetUnregistered,
    TopologyChanged,
)
from ofapp.bridge.effects.fabric import FlushRemote, PutRemote, RemoveRemote, SetFabric, SetShared
from ofapp.bridge.effects.notices import (
    AccountSession,
    AskServer,
    BridgeNamed,
    CheckedLink,
    FarEnd,
    InLine,
    PortRenamed,
    SpokenFor,
    StateChanged,
)
from ofapp.bridge.event import Event
from ofapp.bridge.ports.port import Port


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

    port: port of the bridge, by which it came in; frame: as the trap gave it, so with its VLAN's
    tag.
    """

    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Barrier:
    """Later effects wait until the switch has carried out the earlier ones and forwards by them."""


@dataclass(frozen=True, slots=True)
class SetFlood:
    """Set the ports that frames to unknown destinations leave by."""

    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class SetTrap:
    """Set whether frames of one kind from a port of the switch go to the controller.

    kind: name of the kind, as in `openflow.model.traps`.
    """

    kind: str
    port: int
    on: bool


@dataclass(frozen=True, slots=True)
class RenewPort:
    """Renew the flows of a port, or of all ports (None), in the state that the switch has.

    Their limit of learned addresses is closed or open now, or the rate of copies of frames from
    unknown sources is another.
    """

    port: int | None


@dataclass(frozen=True, slots=True)
class Reprogram:
    """Ports or parameters have changed: the datapath should hold what the bridge wants now."""


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
class PutSwitchPorts:
    """Put ports of the switch again: their links are held as one-way, or no longer."""

    ports: tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class RenewPolicies:
    """Compute which port may reach which again: VLANs that hosts bring to ports have changed."""


@dataclass(frozen=True, slots=True)
class SetAccess:
    """A host may use a controlled port from now on, or no longer; mac: None for all hosts there.

    grace: None while it may; else the seconds in which a host that is authorised again keeps what
    it has.
    """

    port: int
    mac: int | None
    grace: float | None


@dataclass(frozen=True, slots=True)
class OnMember:
    """An effect on one member of a fabric; ports in it are numbers of that member's switch."""

    member: int
    effect: Effect


@dataclass(frozen=True, slots=True)
class ForFabric:
    """Effects of a fabric's bridge, for all its members; ports in them are those of the bridge."""

    effects: tuple[Effect, ...]


ForBridge = TopologyChanged | PutPorts | RemovePorts | PutSwitchPorts | RenewPolicies | SetAccess
"""Effects of protocols that `Bridge` carries out itself: its callers do not get them."""

Notice = (
    StateChanged
    | AskServer
    | AccountSession
    | CheckedLink
    | FarEnd
    | SpokenFor
    | BridgeNamed
    | PortRenamed
    | InLine
    | ForFabric
    | Event
)
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
    | DesiredLag
    | SetTrap
    | BoundHost
    | Reprogram
    | Flush
    | RenewPort
    | HoldDown
    | LetGo
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
