"""Events of frames that a switch held back or dropped, by its counters."""

from collections.abc import Mapping
from typing import NamedTuple

from ofapp.bridge.event import INFO, WARNING, EventKind
from ofapp.openflow.model.trap import MeterKind
from ofapp.openflow.model.traps import LIMITED


class Limited(NamedTuple):
    """Events of frames that were held back on a port: the beginning and the end."""

    began: EventKind
    ended: EventKind


def _limited(name: str, meaning: str, remedy: str) -> Limited:
    name = f"{name}.limited"
    return Limited(
        EventKind(name, WARNING, meaning, remedy, "held_back", others=(INFO,)),
        EventKind(f"{name}.cleared", INFO, "The condition has ended.", fields="held_back"),
    )


def _by_meter(kind: MeterKind) -> Limited:
    what = kind.what[0].upper() + kind.what[1:]
    return _limited(kind.event, f"{what} {kind.fate}.", kind.remedy)


_RATES = "`ofapp port show BRIDGE -s --watch 2` shows the port's rate."

HELD_BACK: Mapping[MeterKind, Limited] = {kind: _by_meter(kind) for kind in LIMITED}
"""Events of metered frames; their traps declare the name, the meaning and the remedy."""

LEARNING = _limited(
    "learning", "New addresses came faster than the switch takes them; held back.", _RATES
)
LOCKED = _limited(
    "port.locked", "Frames from unknown sources on a locked port were dropped.", _RATES
)
UNPROVEN = _limited(
    "fabric.link",
    "Frames were dropped on a link port of a fabric: what is behind it is not proven.",
    "`ofapp fabric show` has the link's state, and the reason. If the port leads to no member,"
    " correct `links` in the file.",
)

ACL_LIMITED = EventKind(
    "acl.limited",
    WARNING,
    "A rule of an access list with a rate drops frames.",
    "`ofapp acl show` has its counters.",
    "acl rule dropped",
)
ACL_LIMITED_CLEARED = EventKind(
    "acl.limited.cleared", INFO, "The condition has ended.", fields="acl rule dropped"
)
