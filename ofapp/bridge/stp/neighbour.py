"""The bridge behind a point-to-point port. Not in 802.1D-2004, which accepts any answer.

An agreement opens a port because the one bridge behind it has said that its other ports are
blocked. On a link between two bridges no other can say so. But a switch whose controller is
disconnected forwards other bridges' BPDUs between its open ports, and so does an unmanaged switch.
The bridges around it hear each other on ports that look like links, and one's agreement does not
cover the rest. So a port remembers the bridge that it hears (`peer`). While it hears another one it
takes no agreement: it opens by the forward delay, as in the standard without an agreement. While
there may be such a switch (`Core.cautious_until`), only a peer that was known before is believed.
"""

from ofapp.bridge.stp.bpdu import Bpdu, BpduType
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import EXPIRED, InfoIs, TreePort
from ofapp.bridge.stp.vectors import ADDRESS_MASK

STRANGER = 3
"""Hello times after which another bridge that was heard on a port counts as gone."""

UNDER_WAY = 2.0
"""Seconds for which BPDUs may arrive that a switch forwarded without a controller."""

PEER = 30
"""Hello times after which the peer itself counts as gone, when another bridge is heard.

Its switch may be without a controller, and forward others' BPDUs.
"""


def know_peer(core: Core, port: TreePort, peer: int) -> None:
    """Note the address of the bridge behind the port: it was heard, or is remembered."""
    port.peer, port.peer_until = peer, core.now + PEER * core.params.hello_time


def hear_from(core: Core, port: TreePort, message: Bpdu) -> bool:
    """Remember the sender of a BPDU. Gives whether the BPDU is to be handled.

    While switches are without a controller, the peer's last BPDU takes precedence over others':
    its switch keeps to that BPDU, and forwards BPDUs that the peer would not send.  Those may still
    arrive when all switches have their controllers, so that holds for `UNDER_WAY` longer.
    """
    if message.type is BpduType.TCN:
        return True  # a TCN has no sender
    sender = message.vector.bridge & ADDRESS_MASK
    if core.own.is_former(port.peer):
        # The bridge was deleted and created again: forget the old one.
        port.peer, port.peer_until = 0, EXPIRED
        forget_strangers(core, port)
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
    """Forget other bridges, no longer heard through the peer, and age out their information."""
    port.stranger_until = EXPIRED
    teller = port.port_priority.bridge & ADDRESS_MASK
    if port.info_is is InfoIs.RECEIVED and teller != port.peer:
        port.info_is = InfoIs.AGED
        core.ask_reselect(port)


def is_late(core: Core, port: TreePort) -> bool:
    """Whether the peer is silent but there: a bridge of this controller, which is busy and has not
    sent yet.

    17.25 would take the port for an edge after three seconds.
    """
    known = port.point_to_point and core.running(port.peer_until)
    return known and bool(port.peer) and core.own.find(port.peer) is not None


def speaks_for_all(core: Core, port: TreePort, message: Bpdu) -> bool:
    """Whether an agreement covers all bridges behind the port: its sender is the only one."""
    sender = message.vector.bridge & ADDRESS_MASK
    return sender == port.peer and not core.running(port.stranger_until)
