"""The variables of one aggregation (802.1AX, 6.4.5 and 6.4.6) and what every machine may do to it.

The machines are functions of a `Core` and an `AggregationPort`.  They change variables, and through
the methods here they emit effects and mark the members whose conditions may have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ofapp.bridge.event import Event, PortNumber, Severity
from ofapp.bridge.lacp.effects import Effect, SetMember
from ofapp.bridge.lacp.information import Information, State, System, operational_key
from ofapp.bridge.lacp.port import (
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
    """What links must have in common to be one aggregation (6.3.6).

    The actor's system is always this one. port: of an individual link, which has nothing in common
    with any other; 0 otherwise.
    """

    key: int
    partner: System
    partner_key: int
    port: int


class Core:
    """State of one aggregation; only the functions of this package write it.

    lag_id: whom the aggregation is with; None: nobody.
    fallback: the member that is used although nobody speaks LACP.
    strangers: members that another partner is connected to than to the aggregation.
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
        """Take parameters; the system identifier follows."""
        self.params = params
        self.system = System(params.system_priority, self.address)

    @property
    def active(self) -> bool:
        """Actor_Oper_Port_State.LACP_Activity."""
        return self.params.lacp == "active"

    @property
    def timeout(self) -> float:
        """Seconds after which what a partner has said is no longer good (current_while_timer)."""
        return SHORT_TIMEOUT_TIME if self.params.rate == "fast" else LONG_TIMEOUT_TIME

    def add(self, port: AggregationPort) -> None:
        """Take in a member, new or revived."""
        self.ports[port.port_no] = port
        port.key = operational_key(self.admin_key, port.link.speed_mbps)
        self.mark(port)

    def remove(self, port: AggregationPort) -> None:
        """Let a member go."""
        del self.ports[port.port_no]
        self.marked.discard(port.port_no)
        self.revision += 1
        self.reselect = True
        self.mark_all()

    def rekey(self, port: AggregationPort) -> None:
        """The link may have another speed: then it may be of another aggregation (6.3.5)."""
        key = operational_key(self.admin_key, port.link.speed_mbps)
        if key != port.key:
            port.key = key
            port.selected = Selected.UNSELECTED
            port.ntt = self.reselect = True

    def actor(self, port: AggregationPort) -> Information:
        """What this system says of itself on a member."""
        state = State.AGGREGATION | port.own_state
        if self.active:
            state |= State.ACTIVITY
        if self.params.rate == "fast":
            state |= State.TIMEOUT
        return Information(self.system, port.key, self.params.port_priority, port.port_no, state)

    def lag_id_of(self, port: AggregationPort) -> LagId:
        """Of a member's link, as its two ends speak now."""
        partner = port.partner
        individual = 0 if partner.aggregatable else port.port_no
        return LagId(port.key, partner.system, partner.key, individual)

    def runs_out(self, timer: float) -> bool:
        """Has a timer expired?"""
        return timer <= self.now

    def mark(self, port: AggregationPort) -> None:
        """Have the machines of `port` run again."""
        self.marked.add(port.port_no)

    def mark_all(self) -> None:
        """Have the machines of every member run again."""
        self.marked.update(self.ports)

    # -- what is told --------------------------------------------------------------------------

    def tell(
        self,
        kind: str,
        text: str,
        port: AggregationPort,
        severity: Severity = Severity.INFO,
        /,
        **data: object,
    ) -> None:
        """Emit an event about a member, unless there were too many."""
        if port.told.take(self.now):
            self._emit(kind, text, port, severity, data)

    def tell_left_out(self, port: AggregationPort) -> None:
        """Tell how many events were not, once there may be some again."""
        if count := port.told.left_out(self.now):
            text = f"{count} more events were not told"
            self._emit("lacp.untold", text, port, Severity.WARNING, {"count": count})

    def _emit(
        self,
        kind: str,
        text: str,
        port: AggregationPort,
        severity: Severity,
        data: dict[str, object],
    ) -> None:
        data["lag"] = self.name
        words = (f"{self.name}, ", PortNumber(port.port_no), f": {text}")
        self.effects.append(Event(kind, words, severity, port.port_no, data))

    def set_mux(self, port: AggregationPort, mux: Mux) -> None:
        """Emit what a member does in another state of the Mux machine."""
        self.before.setdefault(port.port_no, (port.collecting, port.distributing))
        if port.distributing:
            port.flaps += 1
        port.mux = mux
        self.effects.append(SetMember(port.port_no, port.collecting, port.distributing))

    def note(self, port: AggregationPort) -> None:
        """Count `revision` on when what is kept of a member has changed."""
        stance = (port.receive, port.mux, port.partner, port.link, port.key, port.defaulted)
        if stance != port.stance:
            port.stance = stance
            self.revision += 1

    def next_of(self, port: AggregationPort) -> float:
        """The earliest instant at which something is due at a member, PAUSED if nothing is."""
        timers = [port.actor_churn.timer, port.partner_churn.timer]
        timers += [port.current_while, port.periodic_timer, port.openings.free_at]
        if port.mux is Mux.WAITING:
            timers += [port.wait_while, port.wait_while + AGGREGATE_WAIT_TIME]
        if port.mux is Mux.COLLECTING:
            timers.append(port.grace)
        if port.told.untold:
            timers.append(port.told.free_at)
        if port.ntt:
            timers.append(port.sending.free_at)
        return min((timer for timer in timers if timer > self.now), default=PAUSED)

    @property
    def distributing(self) -> list[AggregationPort]:
        """The members by which frames leave."""
        return [port for port in self.ports.values() if port.distributing]

    @property
    def up(self) -> bool:
        """Is the aggregation of use? A fallback member is, however many links there should be."""
        count = len(self.distributing)
        return count >= (1 if self.fallback is not None else self.params.min_links)

    def heard(self, port: AggregationPort) -> bool:
        """Is what is known of the partner what a partner has said, lately or not long ago?"""
        return not port.defaulted and port.receive in (Receive.CURRENT, Receive.EXPIRED)
