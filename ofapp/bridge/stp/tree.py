"""A bridge's spanning tree: the interface for the rest of `ofapp`.

Every method that takes `now` first advances the bridge to that time, then applies its input, runs
all machines to rest, and returns the effects in an order safe to carry out (see `effects`).

Time is in seconds from any origin and does not go back: an earlier `now` counts as the last one.
The caller calls `tick` at `next_wakeup()`, or later; nothing is lost by calling it too often.

The machines run port by port, and only for ports with an input or a due timer: a repeated hello
costs the same on a bridge of 4 ports and of 4,000.  A port that changes marks those that depend on
it, by means of `index`.
"""

from collections.abc import Iterable, Mapping, Set
from itertools import islice
from typing import NamedTuple

from ofapp.bridge.effects.content import PortState, SetPortState
from ofapp.bridge.event import PortNumber
from ofapp.bridge.stp import guards
from ofapp.bridge.stp.absence import come_back
from ofapp.bridge.stp.around import Around, around
from ofapp.bridge.stp.bpdu import Bpdu, BpduError, BpduType, decode
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.effects import Effect, in_safe_order
from ofapp.bridge.stp.events import STP_BPDU_DROPPED, STP_BPDU_RECEIVED
from ofapp.bridge.stp.information import port_information
from ofapp.bridge.stp.neighbour import forget_strangers, hear_from, know_peer
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import BridgeParams, Link, PortParams
from ofapp.bridge.stp.port import EXPIRED, Guard, TreePort
from ofapp.bridge.stp.receive import bridge_detection, port_receive, protocol_migration
from ofapp.bridge.stp.roles import select_roles
from ofapp.bridge.stp.status import BridgeStatus, PortStatus, bridge_status, guarded, port_status
from ofapp.bridge.stp.topology import account, topology_change
from ofapp.bridge.stp.transition import port_role_transition, port_state_transition
from ofapp.bridge.stp.transmit import has_left, know_neighbour, port_transmit
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PORT_NUMBER_MASK, PriorityVector, same_sender

MAX_PORTS = PORT_NUMBER_MASK

PORTION = 128
"""Due ports that are handled in one go.

A thousand switches' timers wait meanwhile, and thousands of ports may be due together: those of a
switch whose controller resumes all open at the same instant.  The later ones are late by some
milliseconds, as a timer may be.
"""

ROUNDS_A_PORT = 32
"""Bound on how often a port's machines run before all rest, asserted in every step."""


class NewPort(NamedTuple):
    """A port to be added.

    address: source of the port's BPDUs, the bridge's if None.
    behind: the bridge that is remembered to be behind the port, as in `behind`.
    """

    port_no: int
    params: PortParams
    link: Link
    address: int | None = None
    behind: int | None = None


class SpanningTree:
    """RSTP, with STP compatibility, for one bridge (802.1D-2004, clause 17)."""

    def __init__(
        self, params: BridgeParams, bridge_address: int, own: OwnTrees | None = None
    ) -> None:
        """bridge_address: 48-bit address, unique among bridges; source address of BPDUs.

        own: the trees of the same controller, which this one is to `join`.
        """
        own = OwnTrees() if own is None else own
        self._core = Core(params, bridge_address & ADDRESS_MASK, own)
        self._looked_at: dict[int, TreePort] = {}
        self.rounds_used = 0
        """Most runs of a port in one step: how near the bound this bridge came."""

    @property
    def core(self) -> Core:
        """State of the machines, for a dump and for tests."""
        return self._core

    def join(self) -> None:
        """Add the tree to the controller's own trees."""
        self._core.own.join(self._core)

    def leave(self) -> None:
        """Remove the tree from the controller's own: it ends, or its switch is disconnected."""
        self._core.own.leave(self._core)

    @property
    def trace(self) -> bool:
        """Whether BPDUs are emitted as events (``stp.bpdu.sent``, ``stp.bpdu.received``).

        True at first. They cost more than the protocol itself; without a listener, set False.
        """
        return self._core.trace

    @trace.setter
    def trace(self, value: bool) -> None:
        self._core.trace = value

    def hear_of_leaving(self) -> None:
        """Expect a call of `left` for each sent BPDU; else it counts as sent when it is emitted."""
        self._core.hears_of_leaving = True

    def left(self, port_no: int, number: int, now: float) -> None:
        """Note that a BPDU has been sent, by its `SendBpdu.number`; its port may be gone by now."""
        core = self._core
        port = core.ports.get(port_no)
        if port is not None:
            has_left(port, number, max(now, core.now))
            due = min(port.agreement_from, port.opens_at)
            if due < port.wake:
                core.wake(port, due)

    # -- ports -------------------------------------------------------------------------------

    def add_port(
        self,
        port_no: int,
        params: PortParams,
        link: Link,
        now: float,
        address: int | None = None,
        behind: int | None = None,
    ) -> list[Effect]:
        """Add a port (see `NewPort`). Raises ValueError as `add_ports`."""
        return self.add_ports([NewPort(port_no, params, link, address, behind)], now)

    def add_ports(self, ports: Iterable[NewPort], now: float) -> list[Effect]:
        """Add several ports: roles are selected once for all of them.

        The state of each is among the effects, discarding unless it opens at once.

        Raises ValueError for a port that exists, or when there are 4095.
        """
        core = self._core
        self._start(now)
        for new in ports:
            if new.port_no in core.ports:
                raise ValueError(f"port {new.port_no} is there already")
            number, link = self._free_number(new.port_no), new.link
            address = core.address if new.address is None else new.address
            port = TreePort(new.port_no, number, new.params, link, address)
            alone = new.behind == 0 and new.params.auto_edge and link.up
            port.oper_edge = new.params.admin_edge or alone
            if new.behind == 0:
                port.edge_from = EXPIRED
            if new.behind:
                know_peer(core, port, new.behind)
            core.add(port)
            core.before[new.port_no] = None
            core.effects.append(SetPortState(new.port_no, PortState.DISCARDING))
            self._refresh(port)
            core.ask_reselect(port)
        return self._finish()

    def remove_port(self, port_no: int, now: float) -> list[Effect]:
        """Remove a port as if its link had failed. Raises KeyError for an unknown port."""
        core = self._core
        port = core.ports[port_no]
        self._start(now)
        self._change(port, port.params, Link(False, port.link.speed_mbps))
        effects = self._finish()
        core.remove(port)
        return effects

    def set_link(self, port_no: int, link: Link, now: float, edge: bool = False) -> list[Effect]:
        """Set a link's new state from the switch. Raises KeyError for an unknown port.

        A link that went down and up between two calls must be set as down, then up.
        edge: it is known that no bridge is behind the port, so that it need not wait to find out.
        """
        return self.set_links([(port_no, link, edge)], now)

    def set_links(self, links: Iterable[tuple[int, Link, bool]], now: float) -> list[Effect]:
        """Set the states of several ports' links: roles are selected once for all of them.

        So a port whose link has failed, too, does not become root port meanwhile.
        """
        self._start(now)
        for port_no, link, edge in links:
            port = self._core.ports[port_no]
            self._change(port, port.params, link)
            if edge and port.enabled:
                port.oper_edge |= port.params.auto_edge
                port.edge_from = EXPIRED
        return self._finish()

    def set_port_params(self, port_no: int, params: PortParams, now: float) -> list[Effect]:
        """Set a port's parameters. Raises KeyError for an unknown port.

        admin_edge counts from the next time the link comes up (17.25).
        """
        core = self._core
        port = core.ports[port_no]
        self._start(now)
        if not params.bpdu_guard and port.err_disabled:
            guards.release_bpdu_guard(core, port, "the guard is off")
        if not params.loop_guard and port.loop_inconsistent:
            guards.release_loop_guard(core, port, "the guard is off")
        self._change(port, params, port.link)
        return self._finish()

    def recover(self, port_no: int, now: float) -> list[Effect]:
        """Release a port's guards, by hand. Raises KeyError for an unknown port.

        Root guard releases the port itself when the superior BPDUs stop, and not before.
        """
        core = self._core
        port = core.ports[port_no]
        self._start(now)
        guards.release(core, port, "by hand")
        self._refresh(port)
        return self._finish()

    def migration_check(self, port_no: int, now: float) -> list[Effect]:
        """Set mcheck (17.19.13): send RSTP again. Raises KeyError for an unknown port."""
        port = self._core.ports[port_no]
        self._start(now)
        port.mcheck = True
        self._core.mark(port)
        return self._finish()

    # -- the bridge ----------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """Count of changes of the state of the bridge or a port, timers excluded."""
        return self._core.revision

    @property
    def cabling(self) -> int:
        """Count of changes of `behind`."""
        return self._core.cabling

    @property
    def behind(self) -> Mapping[int, int]:
        """The address of the bridge behind a port, 0 where there is none, as far as is known."""
        return self._core.behind

    @property
    def inner(self) -> Set[int]:
        """The ports that are no edges, by number: always the present ones."""
        return self._core.inner

    def go_on(self, now: float, cautious_until: float) -> list[Effect]:
        """Resume after the controller was disconnected: see `absence`.

        cautious_until: until then silence does not prove that no bridge is behind a port.

        No port may open on old information from now on. The BPDUs of thousands of ports are sent in
        portions, with the ticks that are due at once.
        """
        core = self._core
        core.now = max(core.now, now)
        core.cautious_until = max(core.cautious_until, cautious_until)
        back = [port for port in core.ports.values() if port.enabled]
        for port in back:
            come_back(core, port)
            core.wake(port, core.now)
        self._start(now)
        return self._finish()

    def beware(self, now: float, until: float) -> list[Effect]:
        """Be cautious: a neighbour's switch may forward from now on without its controller."""
        self._core.cautious_until = max(self._core.cautious_until, until)
        return self.tick(now)

    def calm(self, now: float) -> list[Effect]:
        """End the caution, as every switch has its controller again, and repeat proposals."""
        core = self._core
        self._start(now)
        core.cautious_until = core.now
        asking = [port for port in core.ports.values() if port.enabled]
        for port in asking:
            forget_strangers(core, port)
            port.new_info = port.new_info or port.proposing
            core.wake(port, core.now)
        self._start(now)
        return self._finish()

    def set_bridge_params(self, params: BridgeParams, now: float) -> list[Effect]:
        """Set the bridge's parameters. Another version restarts the protocol (17.13.4)."""
        core = self._core
        self._start(now)
        restart = params.rstp is not core.params.rstp
        core.configure(params)
        for port in core.ports.values():
            if restart:
                port.state_reason = "restart with another protocol version"
                core.set_state(port, PortState.DISCARDING)
                core.flush(port)
                port.begin()
                core.add(port)
                self._refresh(port)
            core.ask_reselect(port)
        core.reselect = True
        return self._finish()

    def receive(self, port_no: int, frame: bytes, now: float) -> list[Effect]:
        """Handle a frame to the bridge group address. Takes any bytes and any port number."""
        return self.receive_all([(port_no, frame)], now)

    def receive_all(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames that came in together, by port: all are processed before any is answered.

        So no BPDU is sent for the first of them that the last one makes wrong.
        """
        self._start(now)
        for port_no, frame in frames:
            port = self._core.ports.get(port_no)
            if port is not None:
                if port.rcvd_bpdu:  # 17.23 takes the next one when this one is processed
                    self._run_machines()
                self._hear(port, frame)
        return self._finish()

    def tick(self, now: float) -> list[Effect]:
        """Advance the time to `now`."""
        self._start(now)
        return self._finish()

    def next_wakeup(self) -> float | None:
        """The instant of the next `tick`, None if nothing is due ever."""
        return self._core.wakes.next()

    def snapshot(self, ports: Iterable[int] | None = None) -> BridgeStatus:
        """The bridge and its ports as of the last call.  ports: only these.  Raises KeyError."""
        return bridge_status(self._core, ports)

    def port(self, port_no: int) -> PortStatus:
        """One port as of the last call. Raises KeyError for an unknown port."""
        return port_status(self._core, self._core.ports[port_no])

    def around(self) -> Around:
        """The bridge, and the neighbours of its ports, as of the last call."""
        return around(self._core)

    def guarded(self) -> dict[int, tuple[Guard, ...]]:
        """The guards that block ports, by port."""
        return guarded(self._core)

    def states(self) -> dict[int, PortState]:
        """The states of the ports whose links are up, without the rest of `snapshot`."""
        return {port.port_no: port.state for port in self._core.ports.values() if port.link.up}

    def takes_part(self, port_no: int) -> bool:
        """Whether spanning tree runs on a port. Raises KeyError for an unknown port."""
        return self._core.ports[port_no].params.enabled

    def is_edge(self, port_no: int) -> bool:
        """operEdge (17.19.17). Raises KeyError for an unknown port."""
        return self._core.ports[port_no].oper_edge

    # -- how it works ----------------------------------------------------------------------------

    def _free_number(self, port_no: int) -> int:
        """A 12-bit port number: the OpenFlow number itself if it fits and is free."""
        taken = self._core.numbers
        if 1 <= port_no <= MAX_PORTS and port_no not in taken:
            return port_no
        for number in range(MAX_PORTS, 0, -1):
            if number not in taken:
                return number
        raise ValueError(f"a bridge has at most {MAX_PORTS} ports (9.2.7)")

    def _change(self, port: TreePort, params: PortParams, link: Link) -> None:
        core = self._core
        identity = (port.port_id, port.port_path_cost, port.params.restricted_role)
        guarded, bypassed = port.params.root_guard, port.bypass
        port.configure(params, link)
        if not link.up:
            guards.link_lost(core, port)
        if bypassed and not port.bypass:
            port.state_reason = "spanning tree starts on this port" if link.up else "link down"
            core.flush(port)
        self._refresh(port)
        if identity != (port.port_id, port.port_path_cost, params.restricted_role) or (
            guarded is not params.root_guard
        ):
            core.ask_reselect(port)

    def _refresh(self, port: TreePort) -> None:
        """Compute portEnabled (17.19.18) and mark the port."""
        port.enabled = port.link.up and port.params.enabled and not port.err_disabled
        self._core.mark(port)

    def _hear(self, port: TreePort, frame: bytes) -> None:
        core = self._core
        if not port.enabled:
            port.drops["port-disabled"] += 1
            return
        if port.params.bpdu_filter:
            port.drops["filtered"] += 1
            return
        bpdu: Bpdu | None = None
        try:
            bpdu = decode(frame)
        except BpduError as error:
            self._drop(port, error.reason)
            if error.reason == "not-bpdu":
                return
        if port.params.bpdu_guard:
            guards.strike_bpdu_guard(core, port)
            self._refresh(port)
            return
        if bpdu is None:
            return
        core.mark(port)
        own = PriorityVector(0, 0, core.bridge_id, port.port_id)
        if bpdu.type is not BpduType.TCN and same_sender(bpdu.vector, own):
            self._drop(port, "own-bpdu")
            guards.hear_own_bpdu(core, port)
            return
        if bpdu.type is not BpduType.TCN:
            know_neighbour(core, port, bpdu.vector.bridge)
        port.received[bpdu.type.name.lower()] += 1
        if core.trace:
            core.emit(
                STP_BPDU_RECEIVED, (PortNumber(port.port_no), f" < {bpdu}"), port, **bpdu.describe()
            )
        guards.hear_bpdu(core, port)
        if not hear_from(core, port, bpdu):
            port.drops["stranger"] += 1
            return
        if bpdu.serial:
            port.heard = bpdu.serial
        port.msg = bpdu
        port.rcvd_bpdu = True

    def _drop(self, port: TreePort, reason: str) -> None:
        port.drops[reason] += 1
        if reason not in port.drops_reported:
            # Once for each reason until the port recovers: a host can send a million of these.
            port.drops_reported.add(reason)
            self._core.emit(
                STP_BPDU_DROPPED,
                (PortNumber(port.port_no), f": BPDU dropped: {reason}"),
                port,
                reason=reason,
            )

    def _start(self, now: float) -> None:
        """Advance the bridge to `now`."""
        core = self._core
        core.now = max(core.now, now)
        numbers = sorted(islice(core.wakes.expired(core.now), PORTION))
        due = [core.ports[number] for number in numbers]
        for port in due:
            guards.expire(core, port)
            self._refresh(port)
        if due:
            core.mark_dependants()
            self._run_machines()

    def _finish(self) -> list[Effect]:
        """Run every machine to rest and return the effects."""
        core = self._core
        self._run_machines()
        looked_at, self._looked_at = self._looked_at, {}
        for port in looked_at.values():
            port_transmit(core, port)
            core.note(port)
            wake = core.next_of(port)
            if wake != port.wake:
                core.wake(port, wake)
        account(core)
        effects, core.effects = core.effects, []
        before, core.before = core.before, {}
        return in_safe_order(effects, before)

    def _run_machines(self) -> None:
        """Run all machines but port transmit, until they rest."""
        core = self._core
        looks = 0
        bound = ROUNDS_A_PORT * (len(core.ports) + 1)
        while core.marked or core.reselect:
            if core.reselect:
                # Process what all ports have received first, so that one selection covers it.
                for port in list(core.marked.values()):
                    self._hear_out(port)
                select_roles(core)
                continue
            number = next(iter(core.marked))
            port = core.marked.pop(number)
            self._looked_at[number] = port
            self._run(port)
            looks += 1
            assert looks <= bound, f"the machines do not come to rest: {looks} looks"
        self.rounds_used = max(self.rounds_used, looks // (len(core.ports) + 1))

    def _run(self, port: TreePort) -> None:
        """Run the machines of one port, until they rest or roles have to be selected."""
        core = self._core
        changed = self._hear_out(port)
        if core.reselect:
            core.mark(port)
            return
        while (
            port_role_transition(core, port)
            or port_state_transition(core, port)
            or topology_change(core, port)
        ):
            changed = True
        if changed:
            core.mark_dependants()
            core.marked.pop(port.port_no, None)

    def _hear_out(self, port: TreePort) -> bool:
        """Run a port's receiving machines; gives whether its information has changed."""
        core = self._core
        port_receive(core, port)
        protocol_migration(core, port)
        bridge_detection(core, port)
        changed = False
        while port_information(core, port):
            changed = True
        return changed
