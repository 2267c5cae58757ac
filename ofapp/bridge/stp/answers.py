"""What an agreement answers. Not in 802.1D-2004, whose agreements do not say.

An agreement that was given to what a port said before opens it on what it says now, to which nobody
has agreed: see `transmit.AGREEMENT_DELAY`, which waits for as long as such a one may be under way.
How long that is nobody knows: a switch that is busy answers a barrier after half a second, and what
has to wait for that is older still when it leaves.

So BPDUs between bridges of one controller are numbered by their port, and each says which one of
the other side was heard last: an agreement counts if that one, or one before it, told what the port
says now. The numbers are in the seven octets that fill an RST BPDU's frame up to its least size,
which nobody reads, so no other bridge meets anything new. Towards those there is the delay.

A port that begins anew must not take what was meant for the one before it, so the first number is
another one each time.
"""

from __future__ import annotations

from ofapp.bridge.stp.bpdu import MAX_SERIAL, Bpdu
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import TreePort


def number(port: TreePort) -> tuple[int, int]:
    """(serial, answers) of the next BPDU that leaves by the port."""
    port.serial = port.serial % MAX_SERIAL + 1
    return port.serial, port.heard


def forget_answers(port: TreePort) -> None:
    """Nothing that was said up to now is worth an agreement any more."""
    port.unanswered = port.serial


def is_answer(core: Core, port: TreePort, message: Bpdu) -> bool:
    """Whether an agreement may count: it answers what the port says, as far as that is known."""
    if not (port.own_neighbour and message.serial):
        return not core.running(port.agreement_from)
    since = (port.serial - port.unanswered) % MAX_SERIAL
    return bool(message.answers) and (port.serial - message.answers) % MAX_SERIAL < since
