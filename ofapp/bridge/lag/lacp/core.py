"""Variables of one aggregation (802.1AX, 6.4.5 and 6.4.6) and the operations for its machines.

The machines are functions of a `Core` and an `AggregationPort`.  They change variables, and through
the methods here they emit effects and mark the members whose conditions may have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ofapp.bridge.event import EventKind, PortNumber
from ofapp.bridge.lag.lacp.effects import Effect, SetMember
from ofapp.bridge.lag.lacp.events import LACP_UNTOLD
from ofapp.bridge.lag.lacp.information import Information, State, System, operational_key
from ofapp.bridge.lag.lacp.port import (
    AGGREGATE_WAIT_TIME,
    LONG_TIMEOUT_TIME,
    PAUSED,
    SHORT_TIMEOUT_TIME,
    AggregationPort,
    Mux,
    Receive,
    Selected,
)

if TYPE_CHECKING:  # `bridge.lag` is made of this package, apart from its parameters
    from ofapp.bridge.lag.params import LagParams


class LagId(NamedTuple):
    """The values that links of one aggregation share (6.3.6).

    The actor's system is always this one. port: of an individual link, which can be in no
    aggregation with others; 0 otherwise.
    """

    key: int
    partner: System
    partner_key: int
    port: int


class Core:
    """State of one aggregation; only the functions of this package write it.

    lag_id: the partner and keys in use; None without a partner.
    fallback: the member that is used although no partner speaks LACP.
    strangers: members whose partner is another one than the aggregation's.
    """

    def __init__(self, name: str, params: LagParams, address: int, admin_key: int) -> None:
        self.name = name
        self.address = address
        self.admin_key = admin_key
        self.ports: dict[int, AggregationPort] = {}
        self.now = 0.0
        self.effects: list[Effect] = []
        self.before: dict[int, tuple[bool, bool]] = {}
        self.marked: set[int] = set()
        self.reselect = False
        self.lag_id: LagId | None = None
        self.fallback: int | None = None
        self.strangers: frozenset[int] = frozenset()
        self.looked_at: set[int] = set()
        self.revision = 0
        self.configure(params)

    def configure(self, params: LagParams) -> None:
        """Set the parameters and the system identifier."""
        self.params = params
        self.system = System(params.system_priority, self.address)

    @property
    def active(self) -> bool:
        """Actor_Oper_Port_State.LACP_Activity."""
        return self.params.lacp == "active"

    @property
    def timeout(self) -> float:
        """Seconds after which a partner's information expires (current_while_timer)."""
        return SHORT_TIMEOUT_TIME if self.params.rate == "fast" else LONG_TIMEOUT_TIME

    def given_up(self, port: AggregationPort) -> float:
        """The instant at which a partner that is silent on all members is given up."""
        return port.current_while + LONG_TIMEOUT_TIME - self.timeout

    def add(self, port: AggregationPort) -> None:
        """Add a member, new or restored."""
        self.ports[port.port_no] = port
        port.key = operational_key(self.admin_key, port.link.speed_mbps)
        self.mark(port)

    def remove(self, port: AggregationPort) -> None:
        """Remove a member."""
        del self.ports[port.port_no]
        self.marked.discard(port.port_no)
        self.revision += 1
        self.reselect = True
        self.mark_all()

    def rekey(self, port: AggregationPort) -> None:
        """Set the key by the link's speed; with another key the member is unselected (6.3.5)."""
        key = operational_key(self.admin_key, port.link.speed_mbps)
        if key != port.key:
            port.key = key
            port.selected = Selected.UNSELECTED
            port.ntt = self.reselect = True

    def actor(self, port: AggregationPort) -> Information:
        """The actor information that this system sends on a member."""
        state = State.AGGREGATION | port.own_state
        if self.active:
            state |= State.ACTIVITY
        if self.params.rate == "fast":
            state |= State.TIMEOUT
        return Information(self.system, port.key, self.params.port_priority, port.port_no, state)

    def lag_id_of(self, port: AggregationPort) -> LagId:
        """The LAG ID of a member's link, by the current information of its two ends."""
        partner = port.partner
        individual = 0 if partner.aggregatable else port.port_no
        return LagId(port.key, partner.system, partner.key, individual)

    def runs_out(self, timer: float) -> bool:
        """Whether a timer has expired."""
        return timer <= self.now

    def mark(self, port: AggregationPort) -> None:
        """Have the machines of `port` run again."""
        self.marked.add(port.port_no)

    def mark_all(self) -> None:
        """Have the machines of every member run again."""
        self.marked.update(self.ports)

    # -- events --------------------------------------------------------------------------------

    def emit(
        self,
        kind: EventKind,
        text: str,
        port: AggregationPort,
        /,
        **data: object,
    ) -> None:
        """Emit an event about a member, unless there were too many."""
        if port.event_pace.take(self.now):
            self._emit(kind, text, port, data)

    def report_suppressed(self, port: AggregationPort) -> None:
        """Report how many events were suppressed, once some are allowed again."""
        if count := port.event_pace.left_out(self.now):
            text = f"{count} more events were suppressed"
            self._emit(LACP_UNTOLD, text, port, {"count": count})

    def _emit(
        self,
        kind: EventKind,
        text: str,
        port: AggregationPort,
        data: dict[str, object],
    ) -> None:
        data["lag"] = self.name
        words = (f"{self.name}, ", PortNumber(port.port_no), f": {text}")
        self.effects.append(kind.event(words, port.port_no, data))

    def set_mux(self, port: AggregationPort, mux: Mux) -> None:
        """Set the state of a member's Mux machine and emit what the member does in it."""
        self.before.setdefault(port.port_no, port.does)
        if port.distributing:
            port.flaps += 1
        port.mux = mux
        self.effects.append(SetMember(port.port_no, *port.does))

    def note(self, port: AggregationPort) -> None:
        """Increment `revision` when what a dump keeps of a member has changed."""
        stance = (port.receive, port.mux, port.partner, port.link, port.key, port.defaulted)
        if stance != port.stance:
            port.stance = stance
            self.revision += 1

    def next_of(self, port: AggregationPort) -> float:
        """The earliest timer of a member, PAUSED if none runs."""
        timers = [port.actor_churn.timer, port.partner_churn.timer]
        timers += [port.current_while, port.periodic_timer, port.openings.free_at]
        if port.silent:
            timers.append(self.given_up(port))
        if port.mux is Mux.WAITING:
            timers += [port.wait_while, port.wait_while + AGGREGATE_WAIT_TIME]
        if port.mux is Mux.COLLECTING:
            timers.append(port.grace)
        if port.event_pace.suppressed:
            timers.append(port.event_pace.free_at)
        if port.ntt:
            timers.append(port.sending.free_at)
        return min((timer for timer in timers if timer > self.now), default=PAUSED)

    @property
    def distributing(self) -> list[AggregationPort]:
        """The members by which frames leave."""
        return [port for port in self.ports.values() if port.distributing]

    @property
    def up(self) -> bool:
        """Whether the aggregation is up; one fallback member is enough, despite `min_links`."""
        count = len(self.distributing)
        return count >= (1 if self.fallback is not None else self.params.min_links)

    def heard(self, port: AggregationPort) -> bool:
        """Whether the partner's information was received, and is current or expired."""
        return not port.defaulted and port.receive in (Receive.CURRENT, Receive.EXPIRED)
