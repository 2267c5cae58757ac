"""Who is behind a point-to-point port. Not in 802.1D-2004, which believes whoever answers.

An agreement opens a port because the one bridge behind it has said that it holds everything back.
On a link between two bridges nobody else can say so. But a switch nobody speaks for (its controller
is away) passes other bridges' BPDUs on between its open ports, and so does an unmanaged switch: the
bridges around it hear each other on ports that look like links, and one's agreement says nothing of
the rest. So a port remembers whom it hears (`peer`), and while it hears anybody else it takes no
agreement: it opens by the forward delay, as the standard has it for whoever does not agree. While
such a switch may be about (`Core.cautious_until`), only a peer that was known before is believed.
"""

from __future__ import annotations

from ofapp.bridge.stp.bpdu import Bpdu, BpduType
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import EXPIRED, InfoIs, TreePort
from ofapp.bridge.stp.vectors import ADDRESS_MASK

STRANGER = 3
"""Hello times after which somebody else who was heard on a port is not there any more."""

UNDER_WAY = 2.0
"""Seconds for which that may be heard which a switch has passed on while nobody spoke for it."""

PEER = 30
"""Hello times after which that is said of the peer itself, when somebody else is there.

Its switch may be one nobody speaks for, and passes on what others say.
"""


def know_peer(core: Core, port: TreePort, peer: int) -> None:
    """This bridge is behind the port, by its address: it has spoken, or is remembered."""
    port.peer, port.peer_until = peer, core.now + PEER * core.params.hello_time


def hear_from(core: Core, port: TreePort, message: Bpdu) -> bool:
    """Remember who said this. Gives whether it is to be listened to.

    While switches are absent, what the peer said before is worth more than what others say now: its
    switch holds what it said, and passes on what it would not say itself.  What it has passed on
    may be heard when no switch is absent any more, so that holds for `UNDER_WAY` longer.
    """
    if message.type is BpduType.TCN:
        return True  # it does not tell
    sender = message.vector.bridge & ADDRESS_MASK
    cautious = core.running(core.cautious_until)
    passed_on = core.running(core.cautious_until + UNDER_WAY)
    if sender == port.peer:
        know_peer(core, port, sender)
        if passed_on:
            forget_strangers(core, port)
    elif port.peer and (cautious or core.running(port.peer_until)):
        port.stranger_until = core.now + STRANGER * core.params.hello_time
        if passed_on and port.info_is is InfoIs.RECEIVED:
            return port.port_priority.bridge & ADDRESS_MASK != port.peer
    elif not cautious:
        know_peer(core, port, sender)
    return True


def forget_strangers(core: Core, port: TreePort) -> None:
    """Nobody else is heard through the peer any more: what came that way is not for this port."""
    port.stranger_until = EXPIRED
    teller = port.port_priority.bridge & ADDRESS_MASK
    if port.info_is is InfoIs.RECEIVED and teller != port.peer:
        port.info_is = InfoIs.AGED
        core.ask_reselect(port)


def is_late(core: Core, port: TreePort) -> bool:
    """Whether the peer is silent and nevertheless there: a bridge of this controller, which is busy
    and has not come to say anything.

    17.25 would take the port for an edge after three seconds.
    """
    known = port.point_to_point and core.running(port.peer_until)
    return known and bool(port.peer) and core.own.find(port.peer) is not None


def speaks_for_all(core: Core, port: TreePort, message: Bpdu) -> bool:
    """Whether an agreement from its sender is one of all the bridges behind the port."""
    sender = message.vector.bridge & ADDRESS_MASK
    return sender == port.peer and not core.running(port.stranger_until)
