"""The variables of one port (802.1D-2004, 17.19) and how its timers are kept.

The standard counts timers down once a second.  Here a timer (17.17) is the instant at which it
runs out, so nothing is rounded, a hello is due exactly hello time after the last one, and a bridge
sleeps until the earliest of them.  "timer ≠ 0" is ``timer > now``.  Two values are special:

EXPIRED  has run out.
PAUSED   stands still at its full value.  The standard re-arms such timers at every tick as long as
         the port is in a role (rrWhile of a root port, fdWhile of an alternate port, …); `leave` in
         `transition` sets them running when the port leaves that role.
"""

import math
from collections import Counter
from enum import Enum

from ofapp.bridge.effects.content import PortState
from ofapp.bridge.stp.bpdu import Bpdu
from ofapp.bridge.stp.params import Link, PointToPoint, PortParams, path_cost
from ofapp.bridge.stp.vectors import NO_TIMES, NO_VECTOR, port_identifier

EXPIRED = -math.inf
PAUSED = math.inf


class PortRole(Enum):
    """Port roles (17.7)."""

    DISABLED = "disabled"
    ROOT = "root"
    DESIGNATED = "designated"
    ALTERNATE = "alternate"
    BACKUP = "backup"


class InfoIs(Enum):
    """Where a port's priority vector comes from (17.19.10)."""

    DISABLED = "disabled"
    AGED = "aged"
    MINE = "mine"
    RECEIVED = "received"


class Migration(Enum):
    """States of the port protocol migration machine (17.24)."""

    CHECKING_RSTP = "checking-rstp"
    SELECTING_STP = "selecting-stp"
    SENSING = "sensing"


class Transition(Enum):
    """States of the port role transition machine in which a port can rest (17.29)."""

    DISABLE = "disable"
    DISABLED = "disabled"
    ROOT = "root"
    DESIGNATED = "designated"
    BLOCK = "block"
    ALTERNATE = "alternate"


class Topology(Enum):
    """States of the topology change machine in which a port can rest (17.31)."""

    INACTIVE = "inactive"
    LEARNING = "learning"
    ACTIVE = "active"


class Guard(Enum):
    """Why a port is kept from forwarding although the protocol would let it."""

    BPDU_GUARD = "bpdu-guard"
    ROOT_GUARD = "root-guard"
    LOOP_GUARD = "loop-guard"
    SELF_LOOP = "self-loop"


class TreePort:
    """State of one port; only the functions of this package write it."""

    __slots__ = (
        "address",
        "agree",
        "agreed",
        "agreement_from",
        "asked",
        "designated_priority",
        "designated_times",
        "disputed",
        "drops",
        "drops_reported",
        "edge_delay_while",
        "edge_from",
        "enabled",
        "err_disabled",
        "err_until",
        "fd_while",
        "forward",
        "forward_transitions",
        "forwarding",
        "guard_counts",
        "heard",
        "hello_when",
        "info_is",
        "last_number",
        "learn",
        "learning",
        "link",
        "loop_inconsistent",
        "mcheck",
        "mdelay_while",
        "migration",
        "msg",
        "new_info",
        "number",
        "oper_edge",
        "own_neighbour",
        "params",
        "peer",
        "peer_until",
        "port_id",
        "port_no",
        "port_path_cost",
        "port_priority",
        "port_times",
        "proposed",
        "proposing",
        "rb_while",
        "rcvd_bpdu",
        "rcvd_info_while",
        "rcvd_msg",
        "rcvd_rstp",
        "rcvd_stp",
        "rcvd_tc",
        "rcvd_tc_ack",
        "rcvd_tcn",
        "re_root",
        "received",
        "role",
        "root_inconsistent",
        "rr_while",
        "said",
        "says",
        "selected",
        "selected_role",
        "self_loop",
        "self_loop_until",
        "send_rstp",
        "sent",
        "serial",
        "stance",
        "state",
        "state_reason",
        "stranger_until",
        "sync",
        "synced",
        "tc_ack",
        "tc_prop",
        "tc_while",
        "told_until",
        "topology",
        "transition",
        "tx_count",
        "tx_decrement",
        "unanswered",
        "unheard",
        "updt_info",
        "wake",
    )

    def __init__(
        self, port_no: int, number: int, params: PortParams, link: Link, address: int
    ) -> None:
        self.port_no = port_no
        self.number = number
        self.address = address
        self.state = PortState.DISCARDING
        self.err_disabled = False
        self.err_until = EXPIRED
        self.guard_counts: Counter[Guard] = Counter()
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.drops: Counter[str] = Counter()
        self.drops_reported: set[str] = set()
        self.stance: tuple[object, ...] = ()
        # The last BPDU sent: its contents, and its kind and frame, see `transmit`
        self.says: tuple[object, ...] = ()
        self.said: tuple[str, bytes] | None = None
        # Serials, see `answers`: last sent, last to which no answer counts, neighbour's last
        self.serial = self.unanswered = self.heard = 0
        self.forward_transitions = 0
        self.configure(params, link)
        self.begin()

    def configure(self, params: PortParams, link: Link) -> None:
        """Set parameters and link, and all that follows from them alone."""
        self.params = params
        self.link = link
        self.port_id = port_identifier(params.priority, self.number)
        self.port_path_cost = params.path_cost or path_cost(link.speed_mbps)

    @property
    def bypass(self) -> bool:
        """Whether the port takes no part in the protocol, and so forwards while its link is up."""
        return self.link.up and not self.params.enabled

    @property
    def point_to_point(self) -> bool:
        """operPointToPointMAC (6.4.3)."""
        if self.params.point_to_point is PointToPoint.AUTO:
            return self.link.full_duplex
        return self.params.point_to_point is PointToPoint.FORCE_TRUE

    @property
    def opens_at(self) -> float:
        """When an edge port that waits opens; PAUSED: its BPDU has not left, or it is none."""
        return self.edge_from if self.oper_edge and not self.forward else PAUSED

    @property
    def kept_discarding(self) -> bool:
        """Whether a guard keeps the port discarding in any role."""
        return self.loop_inconsistent or self.self_loop

    def begin(self) -> None:
        """BEGIN: every machine of the port in its initial state (17.18.1)."""
        self.enabled = False
        # 17.23 to 17.25: receive, migration, bridge detection
        self.msg: Bpdu | None = None
        self.rcvd_bpdu = self.rcvd_msg = self.rcvd_rstp = self.rcvd_stp = False
        self.edge_delay_while = PAUSED
        self.migration = Migration.CHECKING_RSTP
        self.mcheck = True  # 17.24 begins in CHECKING_RSTP
        self.send_rstp = True
        self.mdelay_while = PAUSED
        self.oper_edge = self.params.admin_edge
        # Not in 802.1D: when an edge port may open, see `transmit.EDGE_WAIT`
        self.edge_from = PAUSED
        # 17.26: transmit
        self.own_neighbour = False
        self.new_info = True
        self.hello_when = EXPIRED
        self.tx_count = 0
        self.tx_decrement = PAUSED
        # 17.27: information
        self.info_is = InfoIs.DISABLED
        self.port_priority = self.designated_priority = NO_VECTOR
        self.port_times = self.designated_times = NO_TIMES
        self.rcvd_info_while = EXPIRED
        self.proposing = self.proposed = self.agree = self.agreed = self.disputed = False
        self.agreement_from = self.told_until = EXPIRED
        # See `transmit.has_left`: numbers of the last BPDU, and of the first with the information
        # to be agreed to
        self.last_number = self.asked = 0
        self.unheard = False
        # Not in 802.1D: address of the bridge that it hears, 0 for none yet, see `neighbour`
        self.peer = 0
        self.peer_until = self.stranger_until = EXPIRED
        # 17.28 and 17.29: roles
        self.role = self.selected_role = PortRole.DISABLED
        self.selected = self.updt_info = False
        self.transition = Transition.DISABLE
        self.learn = self.forward = self.synced = False
        self.sync = self.re_root = True
        self.rr_while = self.fd_while = PAUSED
        self.rb_while = EXPIRED
        # 17.30 and 17.31: state, topology change
        self.learning = self.forwarding = False
        self.state_reason = "start"
        self.topology = Topology.INACTIVE
        self.tc_while = EXPIRED
        self.tc_ack = self.tc_prop = False
        self.rcvd_tc = self.rcvd_tcn = self.rcvd_tc_ack = False
        # guards
        self.root_inconsistent = self.loop_inconsistent = self.self_loop = False
        self.self_loop_until = EXPIRED
        self.wake = PAUSED
