"""Events of frames that a switch held back or dropped, by its counters."""

from __future__ import annotations

from typing import NamedTuple

from ofapp.bridge.event import INFO, WARNING, EventKind
from ofapp.openflow.model.traps import LIMITED


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


LEARNING = _limited("learning", "New addresses that come faster than the switch takes them")
OF_METERS = tuple(
    event
    for kind in LIMITED
    for event in _limited(kind.event, kind.what[0].upper() + kind.what[1:], kind.remedy)
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
