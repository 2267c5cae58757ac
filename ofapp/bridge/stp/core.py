"""The variables of one bridge (802.1D-2004, 17.18) and the operations of its machines.

The machines are functions of a `Core` and a `TreePort`.  They change variables, and through
the methods here they emit effects and mark the ports whose conditions may have changed.
"""

import weakref

from ofapp.bridge.effects.content import PortState, SetPortState
from ofapp.bridge.event import EventKind, PortNumber, Severity, Text
from ofapp.bridge.stp.effects import Effect, FlushPort
from ofapp.bridge.stp.events import (
    STP_BPDU_GUARD,
    STP_LOOP_GUARD,
    STP_ROOT_GUARD,
    STP_SELF_LOOP,
    STP_STATE,
)
from ofapp.bridge.stp.index import Candidates
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import BridgeParams
from ofapp.bridge.stp.port import EXPIRED, PAUSED, Guard, InfoIs, PortRole, TreePort
from ofapp.bridge.stp.vectors import PriorityVector, Times, bridge_identifier
from ofapp.common.deadlines import Deadlines

_HEARING_ROLES = (PortRole.ROOT, PortRole.ALTERNATE, PortRole.BACKUP)


_GUARD_EVENTS = {
    Guard.BPDU_GUARD: STP_BPDU_GUARD,
    Guard.ROOT_GUARD: STP_ROOT_GUARD,
    Guard.LOOP_GUARD: STP_LOOP_GUARD,
    Guard.SELF_LOOP: STP_SELF_LOOP,
}


class Core:
    """State of one bridge; only the functions of this package write it."""

    def __init__(self, params: BridgeParams, address: int, own: OwnTrees) -> None:
        self.address = address
        self.own = own
        self.ports: dict[int, TreePort] = {}
        self.numbers: set[int] = set()
        self.now = 0.0
        self.trace = True
        self.hears_of_leaving = False
        self.effects: list[Effect] = []
        self.before: dict[int, PortState | None] = {}
        self.marked: dict[int, TreePort] = {}
        self.wakes = Deadlines[int]()
        core = weakref.proxy(self)  # no reference cycle: a big tree is freed when it is not needed
        self.recent_roots = Candidates(lambda port: core.running(port.rr_while))
        self.changing = Candidates(lambda port: core.running(port.tc_while))
        self.hearing = Candidates(lambda port: port.role in _HEARING_ROLES)
        self.informed = Candidates(lambda port: port.info_is is InfoIs.RECEIVED)
        self.unselected = Candidates(lambda port: not port.selected)
        self._candidates = (
            *(self.recent_roots, self.changing, self.hearing),
            *(self.informed, self.unselected),
        )
        self.waiting: dict[int, TreePort] = {}
        self.revision = self.cabling = 0
        self.behind: dict[int, int] = {}
        self.inner: set[int] = set()
        self.cautious_until = EXPIRED
        self.reselect = False
        self.root_port: TreePort | None = None
        self.selected_for: tuple[object, ...] = ()
        """Inputs of the last role selection, apart from each port's own variables."""
        self.tc_active = False
        self.tc_count = 0
        self.tc_since: float | None = None
        self.tc_port: int | None = None
        self.configure(params)
        self.root_priority = PriorityVector(self.bridge_id, 0, self.bridge_id, 0)
        self.root_times: Times = params.times

    def configure(self, params: BridgeParams) -> None:
        """Set the parameters; bridge identifier and times follow (17.18.2, 17.18.4)."""
        self.params = params
        self.bridge_id = bridge_identifier(params.priority, self.address)

    def add(self, port: TreePort) -> None:
        """Add a port, new or revived."""
        port.serial = port.unanswered = self.own.first_serial()
        self.ports[port.port_no] = port
        self.numbers.add(port.number)
        for candidates in self._candidates:
            candidates.add(port)
        self.wake(port, port.wake)

    def remove(self, port: TreePort) -> None:
        """Remove a port."""
        del self.ports[port.port_no]
        self.inner.discard(port.port_no)
        self.numbers.discard(port.number)
        for candidates in self._candidates:
            candidates.discard(port)
        self.waiting.pop(port.port_no, None)
        self.wakes.set(port.port_no, None)

    # -- which ports to look at ------------------------------------------------------------

    def wake(self, port: TreePort, when: float) -> None:
        """Set the instant at which `port` is due."""
        port.wake = when
        self.wakes.set(port.port_no, None if when == PAUSED else when)

    def wait(self, port: TreePort) -> None:
        """Have `port`, which may not open yet because of another one, run when any port changes."""
        self.waiting[port.port_no] = port

    def mark(self, port: TreePort) -> None:
        """Have the machines of `port` run again."""
        self.marked[port.port_no] = port

    def mark_all(self) -> None:
        """Have the machines of every port run again."""
        self.marked.update(self.ports)

    def mark_dependants(self) -> None:
        """Mark the ports whose conditions depend on other ports (17.20.3, 17.20.10)."""
        for port in self.hearing:
            self.marked[port.port_no] = port
        self.marked |= self.waiting
        self.waiting.clear()

    # -- conditions and procedures over all ports ----------------------------------------------

    def running(self, timer: float) -> bool:
        """Is a timer other than zero?"""
        return timer > self.now

    def forward_delay(self, port: TreePort) -> float:
        """forwardDelay (17.20.5): how long a port waits in each of its states, in seconds.

        The short wait of RSTP presumes that a bridge that disagrees says so within a hello time. On
        shared segments that is not so while news of a dead root spread, one hop a second because of
        the hold count, and no agreement protects them. So, unlike in the standard, they wait a
        forward delay in RSTP, too. The property tests find the loop otherwise.

        While a neighbour's switch may forward without its controller (`cautious_until`), silence
        proves nothing: the wait does not end before.
        """
        times = port.designated_times
        short = port.send_rstp and port.point_to_point
        delay = times.hello_time if short else times.forward_delay
        return max(delay, self.cautious_until - self.now)

    def edge_delay(self, seconds: float) -> float:
        """The instant at which a port that hears no BPDU for `seconds` from now is an edge."""
        return max(self.now + seconds, self.cautious_until)

    def note(self, port: TreePort) -> None:
        """Increment `revision` when a port's state or information has changed, but for its timers.

        `behind` has the address of the bridge behind each port in use, 0 where there is none (an
        edge), no entry where it is not known; `cabling` counts its changes.  `inner` has the ports
        that are no edges.
        """
        (self.inner.discard if port.oper_edge else self.inner.add)(port.port_no)
        stance = (
            port.state,
            port.role,
            port.info_is,
            port.port_priority,
            port.designated_priority,
            port.agree,
            port.agreed,
            port.proposing,
            port.synced,
            port.enabled and port.oper_edge,
            port.peer,
            port.kept_discarding,
        )
        if stance == port.stance:
            return
        port.stance = stance
        self.revision += 1
        known = None
        if port.enabled:
            known = 0 if port.oper_edge else port.peer or None
        if known != self.behind.get(port.port_no):
            self.cabling += 1
            if known is None:
                del self.behind[port.port_no]
            else:
                self.behind[port.port_no] = known

    def all_synced(self) -> bool:
        """allSynced (17.20.3).

        A port that still has to take new information (updtInfo) does not count as synced: its
        `synced` is of the old one, and an agreement based on it can close a loop.
        """
        for port in self.ports.values():
            if not port.selected or port.updt_info or port.role is not port.selected_role:
                return False
            if not port.synced and port.role is not PortRole.ROOT:
                return False
        return True

    def re_rooted(self, port: TreePort) -> bool:
        """reRooted (17.20.10): has every other recent root port retired?"""
        return not any(other is not port for other in self.recent_roots)

    def unretired(self, port: TreePort) -> bool:
        """Whether another port that was root port recently forwards as designated port.

        Not in 802.1D-2004, where reRoot guards the opening of a root port only. When a bridge
        becomes root by a change of priority its former root port goes on forwarding, towards a
        neighbour that does not know it yet. No other port may open before it is agreed to or
        retired.
        """
        return any(
            other is not port and other.role is PortRole.DESIGNATED and other.forward
            for other in self.recent_roots
        )

    def set_sync_tree(self) -> None:
        """setSyncTree (17.21.16)."""
        for port in self.ports.values():
            port.sync = True
        self.mark_all()

    def set_re_root_tree(self) -> None:
        """setReRootTree (17.21.15)."""
        for port in self.ports.values():
            port.re_root = True
        self.mark_all()

    def set_tc_prop_tree(self, cause: TreePort) -> None:
        """setTcPropTree (17.21.18)."""
        if cause.params.restricted_tcn:
            return
        for port in self.ports.values():
            if port is not cause:
                port.tc_prop = True
        self.mark_all()

    def ask_reselect(self, port: TreePort) -> None:
        """reselect and not selected (17.19.34, 17.19.36): roles are to be computed again."""
        port.selected = False
        self.unselected.add(port)
        self.reselect = True

    # -- events and effects --------------------------------------------------------------------

    def emit(
        self,
        kind: EventKind,
        text: Text,
        port: TreePort | None,
        /,
        **data: object,
    ) -> None:
        """Emit an event."""
        number = None if port is None else port.port_no
        self.effects.append(kind.event(text, number, data))

    def set_state(self, port: TreePort, state: PortState) -> None:
        """Emit a port's new state, with the reason that its machines have set."""
        if port.state is state:
            return
        self.before.setdefault(port.port_no, port.state)
        self.emit(
            STP_STATE,
            (
                PortNumber(port.port_no),
                f": {port.state.value} -> {state.value} ({port.state_reason})",
            ),
            port,
            old=port.state.value,
            new=state.value,
            role=port.role.value,
            reason=port.state_reason,
        )
        if state is PortState.FORWARDING:
            port.forward_transitions += 1
        port.state = state
        self.effects.append(SetPortState(port.port_no, state))

    def flush(self, port: TreePort) -> None:
        """fdbFlush (17.19.7): done at once, in STP compatible operation too.

        The standard lets a bridge in STP compatible mode age entries fast for a forward delay
        instead; forgetting at once is the stronger of the two and costs two deletes.
        """
        self.effects.append(FlushPort(port.port_no))

    def guard(self, port: TreePort, guard: Guard, message: str) -> None:
        """Count a guard that has just triggered, and emit an event."""
        port.guard_counts[guard] += 1
        self.emit(
            _GUARD_EVENTS[guard],
            (PortNumber(port.port_no), f": {message}"),
            port,
            guard=guard.value,
            active=True,
            count=port.guard_counts[guard],
        )

    def unguard(self, port: TreePort, guard: Guard, message: str) -> None:
        """Emit an event: a guard has released the port."""
        text = (PortNumber(port.port_no), f": {message}")
        data = {"guard": guard.value, "active": False}
        event = _GUARD_EVENTS[guard].event(text, port.port_no, data, Severity.INFO)
        self.effects.append(event)

    def next_of(self, port: TreePort) -> float:
        """The earliest instant at which a timer of `port` runs out, PAUSED if none does."""
        now = self.now
        earliest = PAUSED
        if port.enabled:
            for timer in (
                port.hello_when,
                port.tc_while,
                port.fd_while,
                port.rcvd_info_while,
                port.rr_while,
                port.rb_while,
                port.mdelay_while,
                port.edge_delay_while,
                port.opens_at,
                port.tx_decrement if port.new_info else PAUSED,  # else it is not needed
                port.agreement_from,
                port.self_loop_until,
                port.peer_until,
            ):
                if now < timer < earliest:
                    earliest = timer
        elif port.err_disabled and now < port.err_until:
            earliest = port.err_until
        return earliest
