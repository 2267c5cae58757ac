"""Flows, groups and meters as values, before they are messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ofapp.openflow.cookie import Feature, make_cookie

VID_MASK = 0x0FFF


@dataclass(frozen=True, slots=True)
class Match:
    """One matched field by its OpenFlow name; mask None for all bits."""

    field: str
    value: int
    mask: int | None = None


def vlan(vid: int) -> Match:
    """The VID whether tagged or not: an untagged frame and a priority tag are both VID 0."""
    return Match("vlan_vid", vid, VID_MASK)


@dataclass(frozen=True, slots=True)
class Output:
    """Out of a port; the switch itself drops output to the ingress port."""

    port: int
    kind: ClassVar[str] = "output"


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Through a group."""

    group: int
    kind: ClassVar[str] = "group"


@dataclass(frozen=True, slots=True)
class ToController:
    """A copy of the first `max_len` bytes to the controller; `meter` limits the copy alone."""

    max_len: int
    meter: int | None
    kind: ClassVar[str] = "controller"


Action = Output | ToGroup | ToController


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow: where it is, what it matches, what it does."""

    table: int
    priority: int
    match: tuple[Match, ...]
    feature: Feature
    actions: tuple[Action, ...] = ()
    goto: int | None = None
    serial: int = 0
    idle_timeout: int = 0
    hard_timeout: int = 0
    notify_removal: bool = False

    @property
    def cookie(self) -> int:
        """The flow's cookie, of the generation of this code."""
        return make_cookie(self.feature, self.serial)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of type ALL: one copy out of each port."""

    id: int
    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class Meter:
    """Drops above `rate` packets a second."""

    id: int
    rate: int
