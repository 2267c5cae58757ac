"""The port information machine: a port's information and its origin (802.1D-2004, 17.27).

The machine's resting states are the values of infoIs: DISABLED, AGED, and CURRENT for MINE and
RECEIVED, so it has no further state.
"""

from enum import Enum

from ofapp.bridge.stp.answers import forget_answers, is_answer
from ofapp.bridge.stp.bpdu import Bpdu, BpduRole, BpduType
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.neighbour import speaks_for_all
from ofapp.bridge.stp.port import EXPIRED, PAUSED, Guard, InfoIs, PortRole, TreePort
from ofapp.bridge.stp.roles import was_not_believed
from ofapp.bridge.stp.vectors import supersedes, within_table

_HEARING_ROLES = (PortRole.ROOT, PortRole.ALTERNATE, PortRole.BACKUP)


class ReceivedInfo(Enum):
    """Meaning of a message to the port that receives it (17.21.8, rcvInfo)."""

    SUPERIOR_DESIGNATED = "superior-designated"
    REPEATED_DESIGNATED = "repeated-designated"
    INFERIOR_DESIGNATED = "inferior-designated"
    NOT_DESIGNATED = "not-designated"
    OTHER = "other"


def port_information(core: Core, port: TreePort) -> bool:
    """One step of 17.27. Returns whether there was one to take."""
    if not port.enabled:
        if port.info_is is InfoIs.DISABLED:
            return False
        _disabled(core, port)
    elif port.info_is is InfoIs.DISABLED:
        _aged(core, port)
    elif port.selected and port.updt_info:
        _update(core, port)
    elif port.info_is is InfoIs.AGED or port.updt_info:
        return False
    elif port.rcvd_msg:
        _receive(core, port)
    elif port.info_is is InfoIs.RECEIVED and not core.running(port.rcvd_info_while):
        if port.params.loop_guard and port.role in _HEARING_ROLES:
            port.loop_inconsistent = True
            core.guard(port, Guard.LOOP_GUARD, "loop guard: BPDUs stopped, blocking")
        _aged(core, port)
    else:
        return False
    return True


def _disabled(core: Core, port: TreePort) -> None:
    port.rcvd_msg = False
    port.proposing = port.proposed = port.agree = port.agreed = port.disputed = False
    port.rcvd_info_while = EXPIRED
    port.info_is = InfoIs.DISABLED
    core.ask_reselect(port)


def _aged(core: Core, port: TreePort) -> None:
    port.info_is = InfoIs.AGED
    core.ask_reselect(port)


def _update(core: Core, port: TreePort) -> None:
    port.proposing = port.proposed = False
    # betterorsameInfo(Mine) (17.21.1). The order of 17.6 without its last clause: a port's own
    # information that got worse must lose the agreement to the better one.
    better = port.info_is is InfoIs.MINE and port.designated_priority <= port.port_priority
    port.agreed = port.agreed and better
    if not better:
        forget_answers(port)
    announced = port.info_is is InfoIs.MINE or core.running(port.told_until)
    if announced and not better:
        # An agreement to the old information may be under way: see transmit.AGREEMENT_DELAY. It
        # runs from when the new information has been sent.
        port.agreement_from = PAUSED
        port.asked = 0
        # Not in 802.1D-2004 either: the wait in which others may disagree begins again.
        if core.running(port.fd_while):
            port.fd_while = max(port.fd_while, core.now + core.forward_delay(port))
    port.synced = port.synced and port.agreed
    port.port_priority = port.designated_priority
    port.port_times = port.designated_times
    port.updt_info = False
    port.info_is = InfoIs.MINE
    port.new_info = True


def classify(port: TreePort, message: Bpdu) -> ReceivedInfo:
    """rcvInfo (17.21.8)."""
    if message.type is BpduType.TCN:
        return ReceivedInfo.OTHER
    vector = message.vector
    if message.role is BpduRole.DESIGNATED:
        if vector == port.port_priority:
            if within_table(message.times) == port.port_times:
                return ReceivedInfo.REPEATED_DESIGNATED
            return ReceivedInfo.SUPERIOR_DESIGNATED
        if supersedes(vector, port.port_priority):
            return ReceivedInfo.SUPERIOR_DESIGNATED
        return ReceivedInfo.INFERIOR_DESIGNATED
    if vector >= port.port_priority:
        return ReceivedInfo.NOT_DESIGNATED
    return ReceivedInfo.OTHER


def _receive(core: Core, port: TreePort) -> None:
    message = port.msg
    assert message is not None
    port.rcvd_msg = False
    match classify(port, message):
        case ReceivedInfo.SUPERIOR_DESIGNATED:
            _superior(core, port, message)
        case ReceivedInfo.REPEATED_DESIGNATED:
            _record_proposal(port, message)
            _set_tc_flags(port, message)
            update_received_info_while(core, port)
            # No new BPDU comes when the reason to disbelieve it has passed.
            core.reselect = core.reselect or was_not_believed(core, port)
        case ReceivedInfo.INFERIOR_DESIGNATED:
            # recordDispute (17.21.10), as corrected in 802.1Q-2005 13.26.10: a bridge that does not
            # hear us takes itself for the designated one.
            if message.learning:
                port.disputed = True
                port.agreed = False
            # Answer now, as bridges of 802.1D-1998 do, and not with the next hello: that bridge
            # may have come up behind a link that was up before.
            port.new_info = True
        case ReceivedInfo.NOT_DESIGNATED:
            _record_agreement(core, port, message)
            _set_tc_flags(port, message)
        case _:
            # A TCN has no role, and 17.21.17 wants it handled all the same.
            port.rcvd_tcn = port.rcvd_tcn or message.type is BpduType.TCN


def _superior(core: Core, port: TreePort, message: Bpdu) -> None:
    port.agreed = port.proposing = False
    _record_proposal(port, message)
    _set_tc_flags(port, message)
    # betterorsameInfo(Received) (17.21.1)
    better = port.info_is is InfoIs.RECEIVED and message.vector <= port.port_priority
    port.agree = port.agree and better
    port.synced = False
    # recordPriority (17.21.12), recordTimes (17.21.13)
    port.port_priority = message.vector
    port.port_times = within_table(message.times)
    update_received_info_while(core, port)
    port.info_is = InfoIs.RECEIVED
    core.informed.add(port)
    core.ask_reselect(port)


def _record_proposal(port: TreePort, message: Bpdu) -> None:
    """17.21.11."""
    port.proposed = port.proposed or message.proposal


def _record_agreement(core: Core, port: TreePort, message: Bpdu) -> None:
    """17.21.9."""
    port.agreed = (
        core.params.rstp
        and port.point_to_point
        and message.agreement
        and speaks_for_all(core, port, message)
        and is_answer(core, port, message)
    )
    if port.agreed:
        port.proposing = False


def _set_tc_flags(port: TreePort, message: Bpdu) -> None:
    """17.21.17."""
    port.rcvd_tc = port.rcvd_tc or message.topology_change
    port.rcvd_tc_ack = port.rcvd_tc_ack or message.topology_change_ack


def update_received_info_while(core: Core, port: TreePort) -> None:
    """17.21.23: information lives for three hello times, or not at all if its age is too high."""
    port.unheard = False
    times = port.port_times
    if round(times.message_age + 1) > times.max_age:
        port.rcvd_info_while = EXPIRED
    else:
        port.rcvd_info_while = core.now + 3 * times.hello_time
