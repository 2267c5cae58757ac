"""What the core wants done: values that the shell turns into OpenFlow messages, in list order.

Those made once for every host are NamedTuples, a third of the price of a frozen dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, get_args

from ofapp.bridge.event import Event
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.multicast.effects import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.stp.effects import SetPortState


class InstallEntry(NamedTuple):
    """Put a learned address in the datapath; `old_port` is where it was before, 0 for nowhere."""

    port: int
    vid: int
    mac: int
    serial: int
    old_port: int


class InstallSticky(NamedTuple):
    """The same for an address that neither ages nor moves."""

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
    """Take out the source half of a learned address, if it is still the one of that serial."""

    port: int
    vid: int
    mac: int
    serial: int


class RemoveDestination(NamedTuple):
    """Take out the destination half of a learned address, if it is still the one of that serial."""

    vid: int
    mac: int
    serial: int


@dataclass(frozen=True, slots=True)
class PutStatic:
    """An address that neither moves nor ages: static (with a VID) or local (on every VID).

    port None: the port is away, so frames to the address flood; it is not learned elsewhere.
    """

    mac: int
    vid: int | None
    port: int | None


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
    """Send a complete frame, without FCS, out of ports, whatever their state.

    bpdu: its number; the bridge is told when it has been sent (`Bridge.bpdus_left`).  0: another's.
    """

    ports: frozenset[int]
    frame: bytes
    bpdu: int = 0


@dataclass(frozen=True, slots=True)
class Barrier:
    """What follows waits until the switch has carried out what is before, and forwards so."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What is remembered of the spanning tree is not true any more, but for this.

    To be written down before anything else of the same list is carried out.
    behind: the address of the bridge behind a port, by its name; 0 where there is none.
    """

    behind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LacpMoved:
    """What LACP knows has changed, and is to be remembered."""


@dataclass(frozen=True, slots=True)
class SpokenFor:
    """The spanning tree hears and is heard again, after its switch was away."""


@dataclass(frozen=True, slots=True)
class BridgeNamed:
    """The LOCAL port, whose name is the bridge's, is new or has another name."""


@dataclass(frozen=True, slots=True)
class PortRenamed:
    """A port has another name, and so have the entries that are fixed to it."""

    port: int


@dataclass(frozen=True, slots=True)
class InLine:
    """The switch holds what the bridge wants, and what only the switch knew is known."""


@dataclass(frozen=True, slots=True)
class SetFlood:
    """The ports that a frame without a known destination leaves by."""

    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class SetLag:
    """What the datapath does for an aggregation from now on."""

    lag: DesiredLag


@dataclass(frozen=True, slots=True)
class SetLldp:
    """Whether the LLDP that comes in by a port of the switch is brought here."""

    port: int
    heard: bool


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
    """Frames of unknown sources are dropped (closed), or pass: those of a port, or of a VLAN.

    One of `port` and `vid` is None.
    """

    port: int | None
    vid: int | None
    closed: bool


@dataclass(frozen=True, slots=True)
class HoldDown:
    """Drop frames from an address but for those on the port it is known on.

    It ends with `LetGo`, or by itself in the switch after `seconds`.  elsewhere: where else it was
    seen; the switch keeps both ports for the next controller.
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
    """A port may show more or fewer unknown sources a second than before: see `Bridge.rates`."""

    port: int


@dataclass(frozen=True, slots=True)
class LookAgain:
    """The datapath may lack addresses that it should have: look at it soon."""


Notice = Unsettled | LacpMoved | SpokenFor | BridgeNamed | PortRenamed | InLine | Event
"""What is nothing to do with the switch: whoever looks after all bridges is told, at once."""

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
    | Barrier
    | SetGroup
    | RemoveGroup
    | SetUnregistered
    | SetFlood
    | SetLag
    | SetLldp
    | Reprogram
    | Flush
    | SetGate
    | HoldDown
    | LetGo
    | SetRate
    | LookAgain
    | Notice
)
