"""The port transmit machine (802.1D-2004, 17.26).

It runs after all other machines have come to rest, so that one step sends at most one BPDU from a
port, and that BPDU has the final states: an agreement follows the blocking that it promises.
"""

from ofapp.bridge.event import PortNumber
from ofapp.bridge.stp.answers import number
from ofapp.bridge.stp.bpdu import Bpdu, BpduRole, BpduType, encode, renumbered
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.effects import SendBpdu
from ofapp.bridge.stp.events import STP_BPDU_SENT
from ofapp.bridge.stp.port import EXPIRED, PAUSED, PortRole, TreePort

AGREEMENT_DELAY = 0.1
"""Seconds for which a port whose information got worse, or was another's, takes no agreement.

Not in 802.1D-2004, which lets a loop form: an agreement does not name the information it agrees to.
One to the better information that is still under way opens the port, although the neighbour has not
blocked its ports for the worse.  It happens when news of a dead root go round a ring and one link
is slower than the others; the property tests find it in networks of three bridges.  When the time
is over the port proposes again.  A port that forwards is not blocked, so only a port that is
being blocked for a sync is delayed.  It must exceed the time of a BPDU there and an answer back.  A
BPDU may wait in the caller until a port has closed (`Barrier`), for half a second and more.  So the
time runs from when the caller reports that it has been sent (`has_left`), and until then no
agreement is taken.  Bridges of one controller do not need this: their agreements name the BPDU that
they answer (`answers`).
"""

EDGE_WAIT = 0.05
"""Seconds from the first BPDU of a port whose link came up until it opens as an edge.

Not in 802.1D-2004, where an edge port opens at once.  Two edge ports of one bridge with a cable
between them are a loop until a BPDU has come back, in which a switch makes a hundred copies of a
frame.  It must exceed the time of a BPDU from one port to the other.
"""

HOLD = 1.0
"""Seconds until one more BPDU may be sent, once the hold count is used up (17.19.44)."""
OWN_HOLD = 0.1
"""The same towards a bridge of the same controller (see `own`)."""

_ROLE_TOLD = {
    PortRole.ROOT: BpduRole.ROOT,
    PortRole.DESIGNATED: BpduRole.DESIGNATED,
    PortRole.ALTERNATE: BpduRole.ALTERNATE_BACKUP,
    PortRole.BACKUP: BpduRole.ALTERNATE_BACKUP,
}


def port_transmit(core: Core, port: TreePort) -> None:
    """17.26, from IDLE back to IDLE."""
    _run_down(core, port)
    if not port.enabled:
        port.hello_when = port.edge_from = PAUSED
        port.last_number = 0
        port.new_info = True  # TRANSMIT_INIT
        return
    assert port.selected
    assert not port.updt_info
    if not core.running(port.hello_when) or port.hello_when == PAUSED:  # TRANSMIT_PERIODIC
        port.new_info = port.new_info or (
            port.role is PortRole.DESIGNATED
            or (port.role is PortRole.ROOT and core.running(port.tc_while))
        )
        port.hello_when = core.now + core.params.hello_time
    if port.agreement_from != EXPIRED and not core.running(port.agreement_from):
        # Propose again: agreements meanwhile did not count.
        port.agreement_from = EXPIRED
        port.new_info = port.new_info or port.proposing
    if not port.new_info or port.tx_count >= core.params.transmit_hold_count:
        return
    if port.params.bpdu_filter:
        port.new_info = False
        port.edge_from = EXPIRED
        return
    if port.unheard and port.role is not PortRole.DESIGNATED:
        return  # its agreement may not be to the neighbour's present information
    frame = _frame(core, port)
    port.new_info = False
    if frame is None:
        return
    port.tc_ack = False
    port.hello_when = core.now + core.params.hello_time
    port.last_number = core.own.next_number()
    port.asked = port.asked or port.last_number
    if port.role is PortRole.DESIGNATED:
        port.told_until = PAUSED
    if not core.hears_of_leaving:
        has_left(port, port.last_number, core.now)
    port.tx_count += 1
    if port.tx_count == 1:
        port.tx_decrement = core.now + _hold(port)
    core.effects.append(SendBpdu(port.port_no, frame, port.last_number))


def has_left(port: TreePort, number: int, now: float) -> None:
    """Start the timers that run from when a BPDU has been sent."""
    if port.agreement_from == PAUSED and 0 < port.asked <= number:
        port.agreement_from = now + AGREEMENT_DELAY
    if port.edge_from == PAUSED and number == port.last_number:
        port.edge_from = now + EDGE_WAIT
    if port.told_until == PAUSED and number == port.last_number:
        port.told_until = now + AGREEMENT_DELAY


def know_neighbour(core: Core, port: TreePort, bridge_id: int) -> None:
    """Note whether a bridge whose BPDU was heard is of the same controller."""
    port.own_neighbour = core.own.find(bridge_id) is not None
    if port.tx_count:
        port.tx_decrement = min(port.tx_decrement, core.now + _hold(port))


def _hold(port: TreePort) -> float:
    return OWN_HOLD if port.own_neighbour and port.point_to_point else HOLD


def _run_down(core: Core, port: TreePort) -> None:
    """Decrement txCount once a second (17.22, 17.19.44)."""
    while port.tx_count and not core.running(port.tx_decrement):
        port.tx_count -= 1
        port.tx_decrement += _hold(port)
    if not port.tx_count:
        port.tx_decrement = PAUSED


def _frame(core: Core, port: TreePort) -> bytes | None:
    """The frame to send now, if any: mostly the last one but for its serials, so that is kept.
    A thousand switches send thousands of hellos a second."""
    changing = core.running(port.tc_while)
    says = (
        *(port.send_rstp, port.role, changing, port.tc_ack),
        *(port.proposing, port.learning, port.forwarding, port.agree),
        *(port.designated_priority, port.designated_times),
    )
    serials = number(port) if port.send_rstp else (0, 0)
    if says == port.says and port.said is not None and not core.trace:
        port.sent[port.said[0]] += 1
        return renumbered(port.said[1], *serials) if port.send_rstp else port.said[1]
    bpdu = _what_to_send(port, changing, serials)
    if bpdu is None:
        return None
    kind, frame = bpdu.type.name.lower(), encode(bpdu, port.address)
    port.says, port.said = says, (kind, frame)
    port.sent[kind] += 1
    if core.trace:
        core.emit(STP_BPDU_SENT, (PortNumber(port.port_no), f" > {bpdu}"), port, **bpdu.describe())
    return frame


def _what_to_send(port: TreePort, changing: bool, serials: tuple[int, int]) -> Bpdu | None:
    if port.send_rstp:  # TRANSMIT_RSTP, txRstp (17.21.20)
        serial, answers = serials
        return Bpdu(
            BpduType.RST,
            port.designated_priority,
            port.designated_times,
            _ROLE_TOLD[port.role],
            topology_change=changing,
            proposal=port.proposing,
            learning=port.learning,
            forwarding=port.forwarding,
            agreement=port.agree,
            version=2,
            serial=serial,
            answers=answers,
        )
    if port.role is PortRole.ROOT:  # TRANSMIT_TCN, txTcn (17.21.21)
        # newInfo is also set by an agreement, which STP does not have: no change, no TCN.
        return Bpdu(BpduType.TCN) if changing else None
    if port.role is PortRole.DESIGNATED:  # TRANSMIT_CONFIG, txConfig (17.21.19)
        return Bpdu(
            BpduType.CONFIG,
            port.designated_priority,
            port.designated_times,
            topology_change=changing,
            topology_change_ack=port.tc_ack,
        )
    return None
