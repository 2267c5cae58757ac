"""Serial numbers that tell which BPDU an agreement answers. Not in 802.1D-2004.

An agreement to a port's earlier information would open it on its present information, to which the
neighbour has not agreed. `transmit.AGREEMENT_DELAY` waits for as long as such an agreement may be
under way. That time is not known: a busy switch answers a barrier after half a second, and BPDUs
that wait for that leave later still.

So BPDUs between bridges of one controller are numbered by their port, and each has the number of
the last one heard. An agreement counts if that BPDU, or one before it, carried the port's present
information. The numbers are in the seven octets that pad an RST BPDU's frame to its minimum size.
Other bridges ignore those, so they see nothing new. Towards those there is the delay.

A port that is created again must not take answers to its predecessor, so its first number is a
different one each time.
"""

from ofapp.bridge.stp.bpdu import MAX_SERIAL, Bpdu
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import TreePort


def number(port: TreePort) -> tuple[int, int]:
    """(serial, answers) of the next BPDU that leaves by the port."""
    port.serial = port.serial % MAX_SERIAL + 1
    return port.serial, port.heard


def forget_answers(port: TreePort) -> None:
    """Accept no agreement to the BPDUs sent so far."""
    port.unanswered = port.serial


def is_answer(core: Core, port: TreePort, message: Bpdu) -> bool:
    """Whether an agreement may count: it answers the present information, as far as is known."""
    if not (port.own_neighbour and message.serial):
        return not core.running(port.agreement_from)
    since = (port.serial - port.unanswered) % MAX_SERIAL
    return bool(message.answers) and (port.serial - message.answers) % MAX_SERIAL < since
