"""The numbers of OpenFlow groups: a number says what a group is for."""

from ofapp.bridge.ports.port import LOCAL_PORT

FLOOD_GROUP = 1
"""The flood group of a bridge without VLANs, and of VLANs that have none of `VLAN_GROUPS`."""
VLAN_GROUPS = 0x0D000000
"""Flood sets of VLANs, by the lowest VID of the class (see `ofapp.bridge.relay.policies`)."""
PORT_GROUPS = 0x0E000000
"""Groups that lead to a port by way of the egress table, by the port's number."""
ENTRY_GROUPS = 0x0F000000
"""Multicast entries."""
_GROUPS_END = 0x10000000


def is_our_group(group: int) -> bool:
    """Whether a group's number is one that this package gives."""
    return group == FLOOD_GROUP or VLAN_GROUPS <= group < _GROUPS_END


def port_group(port: int) -> int:
    """A port's own group."""
    return PORT_GROUPS | (0xFFFF if port == LOCAL_PORT else port)


def port_of_group(group: int) -> int | None:
    """The port that a group leads to; None for a group that is none of these."""
    port = group - PORT_GROUPS
    if not 0 < port <= 0xFFFF:
        return None
    return LOCAL_PORT if port == 0xFFFF else port
