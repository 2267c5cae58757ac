"""Received BPDUs: port receive, protocol migration and bridge detection (17.23 to 17.25)."""

from ofapp.bridge.event import PortNumber
from ofapp.bridge.stp.bpdu import BpduType
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.events import STP_EDGE, STP_MIGRATION
from ofapp.bridge.stp.neighbour import is_late
from ofapp.bridge.stp.params import MIGRATE_TIME
from ofapp.bridge.stp.port import PAUSED, Migration, TreePort


def port_receive(core: Core, port: TreePort) -> None:
    """17.23. The bridge offers a BPDU only when the last one is processed, so it never queues."""
    if not port.enabled:
        port.rcvd_bpdu = port.rcvd_rstp = port.rcvd_stp = port.rcvd_msg = False
        port.edge_delay_while = PAUSED
        port.peer = port.heard = 0
        port.msg = None
    elif port.rcvd_bpdu:
        assert port.msg is not None
        # updtBPDUVersion (17.21.22)
        port.rcvd_rstp = port.msg.type is BpduType.RST
        port.rcvd_stp = not port.rcvd_rstp
        port.oper_edge = port.rcvd_bpdu = False
        port.rcvd_msg = True
        port.edge_delay_while = core.edge_delay(MIGRATE_TIME)
    elif port.edge_delay_while == PAUSED:
        port.edge_delay_while = core.edge_delay(MIGRATE_TIME)


def protocol_migration(core: Core, port: TreePort) -> None:
    """17.24: select the protocol version that the port sends."""
    if not port.enabled or port.mcheck:
        # 17.19.13: mcheck has no effect where RSTP is not spoken at all
        _check_rstp(core, port)
        return
    if port.mdelay_while == PAUSED:
        port.mdelay_while = core.now + MIGRATE_TIME
    if port.migration is not Migration.SENSING:
        if core.running(port.mdelay_while):
            return
        port.migration = Migration.SENSING
        port.rcvd_rstp = port.rcvd_stp = False
    elif port.send_rstp and port.rcvd_stp:
        port.send_rstp = False
        port.migration = Migration.SELECTING_STP
        port.mdelay_while = core.now + MIGRATE_TIME
        core.emit(
            STP_MIGRATION,
            (PortNumber(port.port_no), ": the neighbour sends STP, this port does now, too"),
            port,
            version="stp",
        )
    elif core.params.rstp and not port.send_rstp and port.rcvd_rstp:
        _check_rstp(core, port)
        core.emit(
            STP_MIGRATION,
            (PortNumber(port.port_no), ": the neighbour sends RSTP, this port does now, too"),
            port,
            version="rstp",
        )


def _check_rstp(core: Core, port: TreePort) -> None:
    port.migration = Migration.CHECKING_RSTP
    port.mcheck = False
    port.send_rstp = core.params.rstp
    port.mdelay_while = core.now + MIGRATE_TIME if port.enabled else PAUSED


def bridge_detection(core: Core, port: TreePort) -> None:
    """17.25: detect whether only end stations are behind the port."""
    if not port.enabled:
        port.oper_edge = port.params.admin_edge
    elif (
        not port.oper_edge
        and port.params.auto_edge
        and port.send_rstp
        and port.proposing
        and not core.running(port.edge_delay_while)
        and not is_late(core, port)
    ):
        port.oper_edge = True
        message = PortNumber(port.port_no), ": no bridge heard, taken for an edge"
        core.emit(STP_EDGE, message, port)
