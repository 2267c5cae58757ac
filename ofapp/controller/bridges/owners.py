"""Whether this controller may manage a switch: always, where it is in no cluster.

In a cluster another class with the same interface decides; it is only loaded there.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Protocol

from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.problem import Problem
from ofapp.controller.bridges.datapath import Connection
from ofapp.controller.bridges.openflow_datapath import Channel, Ownership, ReservedOwnership

KEY = 32
"""Octets of the key that authenticates LLDP."""


class SwitchService(Protocol):
    """Operations on the switches that this controller may manage."""

    def bridge_of(self, datapath_id: int) -> int:
        """Datapath id of a switch's bridge: its own, unless it is a member of a fabric."""

    def switches(self, datapath_id: int) -> tuple[int, ...]:
        """Datapath ids of a bridge's switches: its own, or those of a fabric's members."""

    def in_line(self, datapath_id: int) -> bool:
        """Whether a bridge is served, and its switches' tables are what it wants."""

    def give_up(self, channel: Connection, why: str) -> None:
        """Stop serving a connected switch: another controller does."""

    def expect(self, datapath_id: int) -> None:
        """Handle that another controller has stopped serving a bridge."""

    def last_words(self, datapath_id: int) -> bytes:
        """Messages that repeat a switch's last LACPDUs to the partners of aggregations."""

    def release(self, datapath_id: int) -> None:
        """Forget the state of a bridge that another controller serves now: it is outdated."""


class Owners(Protocol):
    """waits: whether `obtain` may block; it is then called in a greenlet."""

    waits: bool

    def agents(self) -> OwnAgents:
        """Agents that authenticate the LLDP of bridges of one network."""

    def start(self, serves: SwitchService) -> None:
        """Start; returns at once."""

    def obtain(self, channel: Channel) -> Ownership | None:
        """Wait until the switch may be managed; None when the connection ends before.

        RequestError when the switch does not answer.
        """

    def ended(self, channel: Connection) -> None:
        """Handle the end of a connection."""

    def problems(self) -> Iterable[Problem]:
        """What is wrong with the cluster."""

    def close(self) -> None:
        """End, after the controller has released all its switches."""


class Alone:
    """Without a cluster: the switch decides, by its lease.  own: this controller's number."""

    waits = False

    def __init__(self, count: int = 1) -> None:
        self._own = count

    def agents(self) -> OwnAgents:
        """See `Owners`."""
        return OwnAgents(secrets.token_bytes(KEY))

    def start(self, serves: SwitchService) -> None:
        """See `Owners`."""

    def obtain(self, channel: Channel) -> Ownership:
        """See `Owners`."""
        return ReservedOwnership(channel, self._own)

    def ended(self, channel: Connection) -> None:
        """See `Owners`."""

    def problems(self) -> Iterable[Problem]:
        """See `Owners`."""
        return ()

    def close(self) -> None:
        """See `Owners`."""
