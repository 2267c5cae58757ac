"""Settings in the database of an Open vSwitch, and a switch as it is observed, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Phase(StrEnum):
    """When a setting is changed: on all members before the next one begins."""

    PREPARE = "prepare"  # frames go on as before
    SWITCH = "switch over"  # a switch forwards nothing until the controller has set its flows


@dataclass(frozen=True)
class Controller:
    """A controller of a bridge, with the columns of its row that are kept."""

    target: str
    columns: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """A column of a bridge or an interface, or one key of it: `mtu_request`, `bfd:min_tx`.

    value: as ovs-vsctl takes it; None: not set.
    passing: a value to have before it is cleared, which alone leaves a device as it is.
    """

    table: str
    row: str
    column: str
    value: str | None
    passing: str | None = None


@dataclass(frozen=True)
class Controllers:
    """All controllers of a bridge."""

    bridge: str
    controllers: tuple[Controller, ...]


Value = Setting | Controllers


@dataclass(frozen=True)
class Change:
    """A setting that changes.  why: for a person."""

    phase: Phase
    before: Value
    after: Value
    why: str


@dataclass(frozen=True)
class Problem:
    """What prevents the fabric (`fatal`), or is to be known before.  fix: what to do about it."""

    text: str
    fix: str
    fatal: bool = True


@dataclass(frozen=True)
class Interface:
    """An interface of a port of the bridge.  mtu: None where it has none, or it is not known."""

    name: str
    type: str = ""
    mtu: int | None = None
    mtu_request: int | None = None
    bfd: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    bonded: bool = False


@dataclass(frozen=True)
class Switch:
    """A member's bridge in its Open vSwitch."""

    bridge: str
    datapath_id: str
    fail_mode: str = "standalone"
    protocols: tuple[str, ...] = ()
    rstp: bool = False
    stp: bool = False
    other_config: dict[str, str] = field(default_factory=dict)
    controllers: tuple[Controller, ...] = ()
    interfaces: tuple[Interface, ...] = ()
