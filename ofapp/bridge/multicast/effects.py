"""Results of the snooping core: the desired state of the datapath, and frames to send.

Effects are differences to earlier ones, in an order that loses no frame meanwhile: entries are set
before the restriction that needs them, and removed after it.
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
    """Remove the entry: the next less specific one applies, at last `SetUnregistered`."""

    vid: int
    group: bytes
    source: bytes | None


class SetUnregistered(NamedTuple):
    """Ports that get multicast of a family without an entry; None: floods as without snooping.

    A VLAN floods until it is set. Never applies to groups that `address.always_floods`.
    """

    vid: int
    family: Family
    ports: frozenset[int] | None


class SendFrame(NamedTuple):
    """Send our own frame out of `ports`: given untagged, to be tagged by each port's VLANs."""

    vid: int
    ports: frozenset[int]
    frame: bytes


class ForwardTo(NamedTuple):
    """Forward the frame that was given to `receive` to `ports`, never to its ingress port."""

    vid: int
    ports: frozenset[int]


Effect = SetGroup | RemoveGroup | SetUnregistered | SendFrame | ForwardTo | Event
