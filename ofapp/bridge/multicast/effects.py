"""What the snooping core wants done: the desired state of the datapath, and frames to send.

Effects are differences to what was said before, in an order that loses no frame on the way:
entries come before the restriction that needs them, and go after it.
"""

from __future__ import annotations

from typing import NamedTuple

from ofapp.bridge.event import Event
from ofapp.bridge.multicast.address import Family


class SetGroup(NamedTuple):
    """Traffic of (VLAN, group[, source]) goes to `ports` and no others; empty drops it.

    Matched by IP addresses. An entry with a source beats the one without (None). Octets in
    network order; never sent with the ingress port excluded, the datapath does that.
    """

    vid: int
    group: bytes
    source: bytes | None
    ports: frozenset[int]


class RemoveGroup(NamedTuple):
    """The entry is gone: the next less specific one holds, at last `SetUnregistered`."""

    vid: int
    group: bytes
    source: bytes | None


class SetUnregistered(NamedTuple):
    """Where multicast of a family without an entry goes; None: floods as without snooping.

    A VLAN nothing was said about floods. Never holds for what `address.always_floods`.
    """

    vid: int
    family: Family
    ports: frozenset[int] | None


class SendFrame(NamedTuple):
    """Send our own frame out of `ports`: given untagged, to be tagged as each port's egress is."""

    vid: int
    ports: frozenset[int]
    frame: bytes


class ForwardTo(NamedTuple):
    """Send the frame that was given to `receive` out of `ports`, never the one it came in by."""

    vid: int
    ports: frozenset[int]


Effect = SetGroup | RemoveGroup | SetUnregistered | SendFrame | ForwardTo | Event
