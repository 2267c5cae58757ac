"""Whether this controller may look after a switch: always, where it is in no cluster.

What decides it in a cluster is another class with the same questions, which is only loaded there.
"""

from __future__ import annotations

import secrets
from typing import Protocol

from ofapp.bridge.lldp import OwnAgents
from ofapp.openflow.switch.ownership import LeasedOwnership, Ownership
from ofapp.openflow.wire.channel import Channel

KEY = 32
"""Octets of what LLDP is sealed with."""


class Serves(Protocol):
    """What is done with the switches that this controller may look after."""

    def in_line(self, datapath_id: int) -> bool:
        """Whether a switch is served, and holds what its bridge wants."""

    def give_up(self, channel: Channel, why: str) -> None:
        """Serve it no more, though it is connected: another controller does."""

    def expect(self, datapath_id: int) -> None:
        """Another controller served a switch, and does not any more."""

    def let_go(self, datapath_id: int) -> None:
        """Another controller serves a switch: what is known of it here is not true any more."""


class Owners(Protocol):
    """waits: whether `obtain` may take its time, in which case it is asked in a greenlet."""

    waits: bool

    def agents(self) -> OwnAgents:
        """By what LLDP proves to be of bridges that belong together."""

    def start(self, serves: Serves) -> None:
        """Begin; returns at once."""

    def obtain(self, channel: Channel) -> Ownership | None:
        """Wait until the switch may be looked after; None when the connection is over before.

        RequestError when the switch does not answer.
        """

    def ended(self, channel: Channel) -> None:
        """Such a connection is over."""

    def close(self) -> None:
        """The controller ends, and has let go of all its switches."""


class Alone:
    """Only the switch decides, by its lease.  own: the number of this controller."""

    waits = False

    def __init__(self, own: int = 1) -> None:
        self._own = own

    def agents(self) -> OwnAgents:
        """See `Owners`."""
        return OwnAgents(secrets.token_bytes(KEY))

    def start(self, serves: Serves) -> None:
        """See `Owners`."""

    def obtain(self, channel: Channel) -> Ownership:
        """See `Owners`."""
        return LeasedOwnership(channel, self._own)

    def ended(self, channel: Channel) -> None:
        """See `Owners`."""

    def close(self) -> None:
        """See `Owners`."""
