"""Events of frames that a switch held back or dropped, by its counters."""

from __future__ import annotations

from typing import NamedTuple

from ofapp.bridge.event import INFO, WARNING, EventKind


class Limited(NamedTuple):
    """Events of frames that were held back on a port: the beginning and the end."""

    began: EventKind
    ended: EventKind


def _limited(name: str, what: str, remedy: str = "") -> Limited:
    rates = "`ofapp port show BRIDGE -s --watch 2` shows the port's rate."
    began = EventKind(
        f"{name}.limited",
        WARNING,
        f"{what} were held back.",
        remedy or rates,
        "held_back",
        others=(INFO,),
    )
    return Limited(
        began, EventKind(f"{began.name}.cleared", INFO, "That is over.", fields="held_back")
    )


_STORM = "Limit what the host sends, or raise the port's storm limit (`storm`)."

LEARNING = _limited("learning", "New addresses that come faster than the switch takes them")
PACKET_IN = _limited("packet_in", "Copies of frames from unknown sources")
BPDU = _limited("bpdu", "BPDUs", "See what sends them: a loop, or an attack.")
LACP = _limited("lacp", "LACPDUs and markers", "See what sends them.")
LLDP = _limited("lldp", "LLDPDUs", "See what sends them.")
SNOOP = _limited("snoop", "IGMP, MLD and router messages", "See which host sends them.")
BROADCAST = _limited("storm.broadcast", "Broadcasts above the port's limit", _STORM)
MULTICAST = _limited("storm.multicast", "Multicast frames above the port's limit", _STORM)
UNKNOWN_UNICAST = _limited(
    "storm.unknown_unicast", "Frames to unknown hosts above the limit", _STORM
)
LOCKED = _limited("port.locked", "Frames from unknown sources on a locked port")

ACL_LIMITED = EventKind(
    "acl.limited",
    WARNING,
    "A rule of an access list with a rate drops frames.",
    "`ofapp acl show` has its counters.",
    "acl rule dropped",
)
ACL_LIMITED_CLEARED = EventKind(
    "acl.limited.cleared", INFO, "That is over.", fields="acl rule dropped"
)
