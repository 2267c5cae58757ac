"""Outer MAC addresses of a fabric.

Frames between members have a second Ethernet header (MAC-in-MAC).  Its addresses are locally
administered (IEEE 802c-2017, the quadrant of administratively assigned addresses).  Octets:

    destination  02 fabric version+colour member member flags     to one member
                 03 fabric version        member member flags     by the tree of a member
    source       02 fabric lag lag        member entropy          the member where it entered

The version takes the upper six bits of its octet, the colour the lower two.  The flags are 1 for a
frame from an isolated port, and 2 (`DETOUR`) for one of a tree that goes to its next member as a
frame for that member does, as the tree's link has failed.  The five bits above have the community
of the ingress port.  4 (`LEAF`) is a frame of a tree for a
member that does not hold the tree.  The entropy is a hash of the frame inside: by the outer source,
members spread flows over links.  The aggregation is the one that the frame came from, if that has
ports at several members, otherwise 0.
"""

from ofapp.bridge.effects.fabric import Colour

PROBE_TYPE = 0x88B5
"""Ethernet type of the probes of links: the first for local experiments (IEEE 802-2014 9.2.4)."""
PROBE_DESTINATION = 0x0180_C200_000E
"""Destination of probes.  Bridges do not forward it (802.1Q-2018 table 8-1): a link is a cable."""

VERSIONS = 64
MEMBERS = 1 << 16
ENTROPY = 256
"""How many values of each kind an address has room for."""

DETOUR, LEAF = 0x02, 0x04
"""Flags in destinations of a tree's frames that go to one member: that member sends the frame on by
the tree, or takes it for its own bridge alone."""

_ONE, _TREE = 0x02, 0x03
ANY_WAY = 0xFFFF_00FF_FFFF
"""Mask for destination addresses that ignores version and colour."""


def _address(kind: int, fabric: int, way: int, member: int) -> int:
    return kind << 40 | fabric << 32 | way << 24 | member << 8


def to_member(fabric: int, member: int, version: int = 0, colour: Colour = Colour.GREEN) -> int:
    """Return the destination of frames for a member."""
    return _address(_ONE, fabric, version << 2 | colour, member)


def to_tree(fabric: int, root: int, version: int) -> int:
    """Return the destination of frames that a tree carries."""
    return _address(_TREE, fabric, version << 2, root)


def source(fabric: int, member: int, entropy: int = 0) -> int:
    """Return the source of frames that entered at a member."""
    return _address(_ONE, fabric, 0, member) | entropy
