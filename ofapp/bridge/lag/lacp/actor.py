"""The actor of one aggregation: the interface for the rest of `ofapp`.

Every method that takes `now` first brings the actor to that time, then applies its input, runs all
machines to rest, and returns the effects, in an order safe to carry out (see `effects`).

Time is in seconds from any origin and does not go back: an earlier `now` counts as the last one.
The caller calls `tick` at `next_wakeup()`, or later; nothing is lost by calling it too often.

There is one object for each aggregation, and not one for the bridge: the configuration puts a link
into one aggregation only, so no two of them have anything to decide together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ofapp.bridge.lag.lacp.absence import come_back
from ofapp.bridge.lag.lacp.churn import churn_machines
from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.effects import Effect, SendPdu, in_safe_order
from ofapp.bridge.lag.lacp.events import LACP_DROPPED
from ofapp.bridge.lag.lacp.information import MAX_ADMIN_KEY, System
from ofapp.bridge.lag.lacp.mux import mux_machine
from ofapp.bridge.lag.lacp.periodic import periodic_machine
from ofapp.bridge.lag.lacp.port import PAUSED, AggregationPort, Receive, Selected
from ofapp.bridge.lag.lacp.receive import receive_machine
from ofapp.bridge.lag.lacp.selection import select
from ofapp.bridge.lag.lacp.slow import Lacpdu, SlowError, decode
from ofapp.bridge.lag.lacp.status import AggregationStatus, aggregation_status
from ofapp.bridge.lag.lacp.transmit import answer_marker, last_pdus, transmit_machine
from ofapp.bridge.stp.params import Link

if TYPE_CHECKING:
    from ofapp.bridge.lag.params import LagParams

MAX_PORT = 0xFFFF
"""An LACPDU has 16 bits for a port's number; Open vSwitch assigns no greater ones."""


class Actor:
    """LACP on one aggregation.

    address: address of this system, 48 bit. admin_key: 1 to 4095, unique among the system's
    aggregations.
    name: for events.
    """

    def __init__(self, name: str, params: LagParams, address: int, admin_key: int) -> None:
        if params.lacp == "off":
            raise ValueError(f"{name} is a static aggregation, which has no actor")
        if not 1 <= admin_key <= MAX_ADMIN_KEY:
            raise ValueError(f"key {admin_key} is not from 1 to {MAX_ADMIN_KEY}")
        self._core = Core(name, params, address, admin_key)

    # -- members -------------------------------------------------------------------------------

    def add(self, port_no: int, address: int, link: Link, now: float) -> list[Effect]:
        """Add a member, which neither collects nor distributes yet.

        address: the source of frames that are sent from there.

        Raises ValueError for a port that is a member already, or a number beyond `MAX_PORT`.
        """
        core = self._core
        if port_no in core.ports:
            raise ValueError(f"port {port_no} is a member already")
        if not 1 <= port_no <= MAX_PORT:
            raise ValueError(f"port {port_no}: LACP knows numbers from 1 to {MAX_PORT}")
        self._start(now)
        core.add(AggregationPort(port_no, address, link))
        return self._finish()

    def remove(self, port_no: int, now: float) -> list[Effect]:
        """Remove a member, with a last LACPDU to the partner. Raises KeyError for no member."""
        core = self._core
        port = core.ports[port_no]
        self._start(now)
        port.selected = Selected.UNSELECTED
        mux_machine(core, port)
        transmit_machine(core, port)
        core.remove(port)
        return self._finish()

    def set_link(self, port_no: int, link: Link, now: float) -> list[Effect]:
        """Set the state of a member's link. Raises KeyError for no member.

        A link that went down and up between two calls must be set down, then up.
        """
        core = self._core
        port = core.ports[port_no]
        self._start(now)
        if link.full_duplex is not port.link.full_duplex:  # LACP restarts, or ends
            port.link = Link(False, link.speed_mbps, link.full_duplex)
            core.mark(port)
            self._run_machines()
        if not link.up:
            port.drops_reported.clear()
        port.link = link
        core.rekey(port)
        core.mark(port)
        return self._finish()

    def set_params(self, params: LagParams, now: float) -> list[Effect]:
        """Administer the aggregation. Raises ValueError if it is to be a static one from now on.

        A new rate may give a partner more time at once, but less only from its next LACPDU on,
        which starts current_while_timer (6.4.12): Open vSwitch applies the new rate when it sends
        again, up to 30 s later, and would be considered silent after 3 s until then.
        """
        if params.lacp == "off":
            raise ValueError("a static aggregation has no actor")
        core = self._core
        self._start(now)
        system, old = core.system, core.params
        core.configure(params)
        renamed = (system, old.port_priority) != (core.system, params.port_priority)
        for port in core.ports.values():
            if renamed:
                port.selected = Selected.UNSELECTED
            port.ntt = True
            if params.rate != old.rate and port.receive is Receive.CURRENT:
                port.current_while = max(port.current_while, core.now + core.timeout)
        core.mark_all()
        core.reselect = True
        return self._finish()

    def go_on(self, now: float) -> list[Effect]:
        """Send and receive again after the controller was disconnected: see `absence`."""
        core = self._core
        core.now = max(core.now, now)
        for port in core.ports.values():
            come_back(core, port)
        core.reselect = True
        return self._finish()

    def send_last(self, now: float) -> list[Effect]:
        """Send the state of all members before a time of silence: see `absence`."""
        core = self._core
        self._start(now)
        for port in core.ports.values():
            port.ntt = True
            core.mark(port)
        return self._finish()

    def last_pdus(self) -> list[SendPdu]:
        """The LACPDUs that were sent last, to be repeated: see `absence`."""
        return last_pdus(self._core)

    # -- what happens ----------------------------------------------------------------------------

    def receive(self, port_no: int, frame: bytes, now: float) -> list[Effect]:
        """Handle a Slow Protocols frame of a member. Takes any bytes and any port number."""
        port = self._core.ports.get(port_no)
        self._start(now)
        if port is not None:
            self._hear(port, frame)
        return self._finish()

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        self._start(now)
        return self._finish()

    def next_wakeup(self) -> float | None:
        """The instant of the next `tick`, None if nothing is due."""
        wake = min((port.wake for port in self._core.ports.values()), default=PAUSED)
        return None if wake == PAUSED else wake

    # -- how it stands ---------------------------------------------------------------------------

    def status(self) -> AggregationStatus:
        """The aggregation and its members as of the last call."""
        return aggregation_status(self._core)

    @property
    def members(self) -> Mapping[int, tuple[bool, bool]]:
        """Return the states (collecting, distributing) of members, by port number."""
        ports = self._core.ports
        return {number: port.does for number, port in ports.items()}

    @property
    def partner(self) -> tuple[System, int] | None:
        """The partner's system and key."""
        lag_id = self._core.lag_id
        return None if lag_id is None else (lag_id.partner, lag_id.partner_key)

    @property
    def up(self) -> bool:
        """Whether the aggregation is up: at least `min_links` members distribute."""
        return self._core.up

    @property
    def revision(self) -> int:
        """A number that changes with everything that `dump` keeps."""
        return self._core.revision

    # -- how it works ----------------------------------------------------------------------------

    def _hear(self, port: AggregationPort, frame: bytes) -> None:
        core = self._core
        try:
            pdu = decode(frame)
        except SlowError as error:
            port.received[error.kind] += 1
            self._drop(port, error.reason)
            return
        if not isinstance(pdu, Lacpdu):
            answer_marker(core, port, pdu)
            return
        port.received["lacpdu"] += 1
        if not port.enabled or not port.lacp_enabled:
            self._drop(port, "half-duplex" if port.enabled else "link-down")
            return
        port.pdu = pdu
        core.mark(port)

    def _drop(self, port: AggregationPort, reason: str) -> None:
        port.drops[reason] += 1
        if reason not in port.drops_reported:
            # Once a reason until the link goes down: any host can send a million of these.
            port.drops_reported.add(reason)
            message = f"Slow Protocols frame dropped: {reason}"
            self._core.emit(LACP_DROPPED, message, port, reason=reason)

    def _start(self, now: float) -> None:
        """Bring the actor to `now`."""
        core = self._core
        core.now = max(core.now, now)
        for port in core.ports.values():
            if core.runs_out(port.wake):
                core.mark(port)
        self._run_machines()

    def _finish(self) -> list[Effect]:
        """Let every machine come to rest and return the effects."""
        core = self._core
        self._run_machines()
        looked_at, core.looked_at = core.looked_at, set()
        for number in sorted(looked_at & core.ports.keys()):
            port = core.ports[number]
            churn_machines(core, port)
            transmit_machine(core, port)
            core.report_suppressed(port)
            core.note(port)
            port.wake = core.next_of(port)
        effects, core.effects = core.effects, []
        before, core.before = core.before, {}
        return in_safe_order(effects, before)

    def _run_machines(self) -> None:
        """Run all machines but those that follow in `_finish`, until they rest.

        The Selection Logic comes last: an unselected member has left the aggregation by then.
        """
        core = self._core
        looks, bound = 0, 8 * (len(core.ports) + 1)
        while core.marked or core.reselect:
            if not core.marked:
                select(core)
                continue
            number = core.marked.pop()
            core.looked_at.add(number)
            port = core.ports[number]
            receive_machine(core, port)
            periodic_machine(core, port)
            mux_machine(core, port)
            looks += 1
            assert looks <= bound, f"the machines do not come to rest: {looks} looks"
