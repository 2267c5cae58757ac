"""The variables of one member, an Aggregation Port (802.1AX, 6.4.7 and 6.4.8).

As in spanning tree, a timer (6.4.10) is the instant at which it runs out, and "expired" reads
``timer <= now``.  EXPIRED has run out, PAUSED does not run.
"""

import math
from collections import Counter
from enum import Enum

from ofapp.bridge.fdb.pace import EXPIRED, EventPace, Pace
from ofapp.bridge.lag.lacp.information import NO_PARTNER, NO_STATE, State
from ofapp.bridge.lag.lacp.slow import Lacpdu
from ofapp.bridge.stp.params import Link

PAUSED = math.inf

# 6.4.4, in seconds
FAST_PERIODIC_TIME = 1.0
SLOW_PERIODIC_TIME = 30.0
SHORT_TIMEOUT_TIME = 3.0
LONG_TIMEOUT_TIME = 90.0
CHURN_DETECTION_TIME = 60.0
AGGREGATE_WAIT_TIME = 2.0

KEEPALIVE_TIME = 0.5
"""Not in 802.1AX: seconds between LACPDUs for a partner with the short timeout, which expects one a
second (Fast_Periodic_Time). So a controller that is killed may be away for half a second more."""

SILENCE = 2 * FAST_PERIODIC_TIME
"""Not in 802.1AX: with rate fast a silent member is given up alone only if another one was heard
for this long after it fell silent: see `receive`."""

PARTNER_GRACE = 0.5
"""Not in 802.1AX: seconds that a partner may take to do what it signals. Open vSwitch signals that
a member collects before its datapath does, and lost up to a tenth of a second of a stream that was
sent there at once. While other members distribute, waiting costs nothing."""

MAX_LACPDUS = 3
"""Most LACPDUs in any Fast_Periodic_Time (6.4.16)."""
MAX_MARKERS = 5
"""Markers answered a second; with the LACPDUs fewer than the ten frames a second of 57A.3."""
MAX_OPENINGS = 10
OPENINGS_PERIOD = 10.0
"""Not in 802.1AX: how often a member may begin to collect or to distribute in OPENINGS_PERIOD
seconds. Otherwise a partner with alternating state would change the switch with each frame."""
MAX_EVENTS = 20
EVENT_PERIOD = 60.0
"""Most events of a member in EVENT_PERIOD seconds; an event reports how many more there were."""


class Receive(Enum):
    """States of the Receive machine (6.4.12) in which a member can rest."""

    PORT_DISABLED = "port-disabled"
    EXPIRED = "expired"
    LACP_DISABLED = "lacp-disabled"
    DEFAULTED = "defaulted"
    CURRENT = "current"


class Periodic(Enum):
    """States of the Periodic Transmission machine (6.4.13) in which a member can rest."""

    NO_PERIODIC = "no-periodic"
    FAST_PERIODIC = "fast-periodic"
    SLOW_PERIODIC = "slow-periodic"


class Selected(Enum):
    """Decision of the Selection Logic (6.4.8)."""

    UNSELECTED = "unselected"
    SELECTED = "selected"
    STANDBY = "standby"


class Mux(Enum):
    """States of the Mux machine with independent control (6.4.15)."""

    DETACHED = "detached"
    WAITING = "waiting"
    ATTACHED = "attached"
    COLLECTING = "collecting"
    DISTRIBUTING = "distributing"


class Churn(Enum):
    """States of a Churn Detection machine (6.4.17)."""

    MONITOR = "monitor"
    NONE = "none"
    CHURN = "churn"


class ChurnDetection:
    """One of the two machines of a member: its state, its timer, how often it has found churn."""

    __slots__ = ("count", "state", "timer")

    def __init__(self) -> None:
        self.state = Churn.MONITOR
        self.timer = PAUSED
        self.count = 0


class AggregationPort:
    """State of one member; only the functions of this package write it."""

    __slots__ = (
        "actor_churn",
        "address",
        "asks",
        "current_while",
        "defaulted",
        "drops",
        "drops_reported",
        "event_pace",
        "flaps",
        "grace",
        "heard_from",
        "held_back",
        "held_until",
        "key",
        "link",
        "markers",
        "mux",
        "ntt",
        "openings",
        "partner",
        "partner_churn",
        "pdu",
        "periodic",
        "periodic_timer",
        "port_moved",
        "port_no",
        "receive",
        "received",
        "selected",
        "sending",
        "sent",
        "silent",
        "stance",
        "wait_while",
        "wake",
    )

    def __init__(self, port_no: int, address: int, link: Link) -> None:
        self.port_no = port_no
        self.address = address
        self.link = link
        self.key = 0
        self.stance: tuple[object, ...] = ()
        # 6.4.12: receive, INITIALIZE and on to PORT_DISABLED
        self.receive = Receive.PORT_DISABLED
        self.current_while = PAUSED
        self.partner = NO_PARTNER
        self.defaulted = True
        self.port_moved = False
        self.pdu: Lacpdu | None = None
        self.silent = False  # in use although the partner's information has expired
        self.heard_from = EXPIRED  # the instant at which the last such silence ended
        self.asks = False  # the partner must answer at once: see `absence`
        # 6.4.13 and 6.4.16: periodic, transmit
        self.periodic = Periodic.NO_PERIODIC
        self.periodic_timer = PAUSED
        self.ntt = False
        self.sending = Pace(MAX_LACPDUS, FAST_PERIODIC_TIME)
        # 6.4.14 and 6.4.15: selection, mux
        self.selected = Selected.UNSELECTED
        self.mux = Mux.DETACHED
        self.wait_while = PAUSED
        self.grace = PAUSED
        self.openings = Pace(MAX_OPENINGS, OPENINGS_PERIOD)
        self.held_back = 0
        self.held_until = EXPIRED
        # 6.4.17
        self.actor_churn = ChurnDetection()
        self.partner_churn = ChurnDetection()
        # 6.5, and counters
        self.markers = Pace(MAX_MARKERS, 1.0)
        self.event_pace = EventPace(MAX_EVENTS, EVENT_PERIOD)
        self.flaps = 0
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.drops: Counter[str] = Counter()
        self.drops_reported: set[str] = set()
        self.wake = EXPIRED

    @property
    def enabled(self) -> bool:
        """port_enabled (6.4.8)."""
        return self.link.up

    @property
    def lacp_enabled(self) -> bool:
        """LACP_Enabled (6.4.8): false on links that are not full duplex."""
        return self.link.full_duplex

    @property
    def synchronization(self) -> bool:
        """Actor_Oper_Port_State.Synchronization, by the Mux machine's state."""
        return self.mux in (Mux.ATTACHED, Mux.COLLECTING, Mux.DISTRIBUTING)

    @property
    def collecting(self) -> bool:
        """Actor_Oper_Port_State.Collecting."""
        return self.mux in (Mux.COLLECTING, Mux.DISTRIBUTING)

    @property
    def distributing(self) -> bool:
        """Actor_Oper_Port_State.Distributing."""
        return self.mux is Mux.DISTRIBUTING

    @property
    def does(self) -> tuple[bool, bool]:
        """Its state in the switch (collecting, distributing): see `mux`."""
        return self.synchronization, self.distributing

    @property
    def expired(self) -> bool:
        """Actor_Oper_Port_State.Expired."""
        return self.receive is Receive.EXPIRED

    @property
    def own_state(self) -> State:
        """Bits of Actor_Oper_Port_State that follow from the machines' states."""
        state = NO_STATE
        if self.synchronization:
            state |= State.SYNCHRONIZATION
        if self.collecting:
            state |= State.COLLECTING
        if self.distributing:
            state |= State.DISTRIBUTING
        if self.defaulted:
            state |= State.DEFAULTED
        if self.expired:
            state |= State.EXPIRED
        return state

    def partner_says(self, bit: State) -> bool:
        """A bit of Partner_Oper_Port_State."""
        return bool(self.partner.state & bit)
