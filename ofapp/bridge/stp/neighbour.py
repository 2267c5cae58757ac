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
from ofapp.bridge.stp.port import EXPIRED, InfoIs, Port
from ofapp.bridge.stp.vectors import ADDRESS_MASK

MEMORY = 3
"""Hello times after which somebody who was heard on a port is not there any more."""


def hear_from(core: Core, port: Port, message: Bpdu) -> None:
    """Remember who said this."""
    if message.type is BpduType.TCN:
        return  # it does not tell
    sender = message.vector.bridge & ADDRESS_MASK
    until = core.now + MEMORY * core.params.hello_time
    if sender == port.peer:
        port.peer_until = until
        if core.running(core.cautious_until):
            forget_strangers(core, port)
    elif port.peer and (core.running(core.cautious_until) or core.running(port.peer_until)):
        port.stranger_until = until
    elif not core.running(core.cautious_until):
        port.peer, port.peer_until = sender, until


def forget_strangers(core: Core, port: Port) -> None:
    """Nobody else is heard through the peer any more: what came that way is not for this port."""
    port.stranger_until = EXPIRED
    teller = port.port_priority.bridge & ADDRESS_MASK
    if port.info_is is InfoIs.RECEIVED and teller != port.peer:
        port.info_is = InfoIs.AGED
        core.ask_reselect(port)


def speaks_for_all(core: Core, port: Port, message: Bpdu) -> bool:
    """Whether an agreement from its sender is one of all the bridges behind the port."""
    sender = message.vector.bridge & ADDRESS_MASK
    return sender == port.peer and not core.running(port.stranger_until)
