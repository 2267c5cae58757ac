"""Effects on the addresses that a datapath holds: learned, static and held down.

Those created once for every host are NamedTuples, at a third of the cost of a frozen dataclass.
"""

from dataclasses import dataclass
from typing import NamedTuple


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
class Flush:
    """Take all learned addresses out of the datapath: those behind `port`, in `vid`, or all.

    sticky: those that are sticky as well.
    """

    port: int | None = None
    vid: int | None = None
    sticky: bool = False


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
