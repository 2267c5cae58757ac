"""OpenFlow switches as datapaths: the one place where the controller meets OpenFlow.

A cluster's member meets it as well, where it becomes master of a switch (`cluster/election`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.effects import SendFrame
from ofapp.openflow.model.traps import TRAP_HELLOS
from ofapp.openflow.switch.mastership.ownership import Ownership, ReservedOwnership
from ofapp.openflow.switch.session import Session
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.echoes import GIVEN_UP
from ofapp.openflow.wire.main_thread import MAIN_THREADS
from ofapp.openflow.wire.messages.codec import send_frame
from ofapp.openflow.wire.messages.portdesc import local_name
from ofapp.openflow.wire.requests import answers

__all__ = [
    "GIVEN_UP",
    "TRAP_HELLOS",
    "Channel",
    "Ownership",
    "ReservedOwnership",
    "Session",
    "answers",
    "local_name",
    "messages",
    "review_portions",
]

review_portions = MAIN_THREADS.review


def messages(frames: Iterable[SendFrame]) -> bytes:
    """The messages that have a switch send these frames."""
    return b"".join(send_frame(frame.ports, frame.frame) for frame in frames)
