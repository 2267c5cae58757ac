"""Results of the snooping core: the desired state of the datapath, and frames to send.

Effects are differences to earlier ones, in an order that loses no frame meanwhile: entries are set
before the restriction that needs them, and removed after it.
"""

from typing import NamedTuple

from ofapp.bridge.effects.content import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.event import Event


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
