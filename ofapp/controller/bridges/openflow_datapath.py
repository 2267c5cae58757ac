"""OpenFlow switches as datapaths: the one place where the controller meets OpenFlow."""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.effects import SendFrame
from ofapp.openflow.model.traps import LIMITED, STORM, TRAP_HELLOS
from ofapp.openflow.switch import events as switch
from ofapp.openflow.switch.counters import events as counters
from ofapp.openflow.switch.events import BRIDGE_LOST, BRIDGE_STANDBY
from ofapp.openflow.switch.mastership.marks import read_mark
from ofapp.openflow.switch.mastership.ownership import (
    RENEWAL,
    Ownership,
    ReservedOwnership,
    number,
)
from ofapp.openflow.switch.mastership.reservation import SwitchReservation
from ofapp.openflow.switch.mastership.roles import Mastership, StaleError
from ofapp.openflow.switch.plan import compared
from ofapp.openflow.switch.session import Session
from ofapp.openflow.wire import events as wire
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.echoes import GIVEN_UP
from ofapp.openflow.wire.main_thread import MAIN_THREADS
from ofapp.openflow.wire.messages.codec import send_frame
from ofapp.openflow.wire.messages.portdesc import local_name
from ofapp.openflow.wire.requests import answers

EVENTS = switch, counters, wire
"""Modules with the kinds of events of such datapaths."""

HELD_BACK = tuple(kind.name for kind in LIMITED)
"""Kinds of frames in `DatapathStatus.held_back`."""

FATES = {kind.name: f"{kind.what} {kind.fate}" for kind in LIMITED}
"""What happens to such frames, in words, by kind."""

STORMS = tuple(kind.name for kind in STORM)
"""Kinds of frames that storm control drops."""

review_portions = MAIN_THREADS.review


def messages(frames: Iterable[SendFrame]) -> bytes:
    """The messages that have a switch send these frames."""
    return b"".join(send_frame(frame.ports, frame.frame) for frame in frames)
