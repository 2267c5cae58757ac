"""What ports and hosts do: when a frame comes, and by themselves when their time comes.

Frames are EAPOL, and the first frames of hosts that are not admitted.
"""

from __future__ import annotations

from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.event import PortNumber
from ofapp.bridge.mac import format_mac, is_group
from ofapp.bridge.packet.ethernet import read_ethernet
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.events import (
    BUSY_CLEARED,
    FULL,
    FULL_CLEARED,
    STARTS,
    STARTS_CLEARED,
)
from ofapp.bridge.port_access.hosts import Hosts
from ofapp.bridge.port_access.port import ControlledPort, Limit
from ofapp.bridge.port_access.servers import Servers
from ofapp.bridge.port_access.session import Session
from ofapp.bridge.port_access.timers import POLICIES, Timers
from ofapp.bridge.state import BridgeState


class Frames:
    """Frames of hosts.  at: the protocol's time."""

    def __init__(self, timers: Timers, servers: Servers, hosts: Hosts) -> None:
        self._timers = timers
        self._servers = servers
        self._hosts = hosts

    def hear_eapol(self, port: ControlledPort, frame: bytes, at: float) -> list[Effect]:
        """Handle an EAPOL frame."""
        said = eapol.read(frame)
        if isinstance(said, Malformed):
            port.counters[said.reason] += 1
            return []
        session = port.sessions.get(said.mac)
        if session is not None and said.kind == eapol.START and port.must_rest(at):
            return self._has_to_wait(port, said.mac)
        if session is None:
            invited = said.kind == eapol.EAP and said.identifier == port.identifier
            wanted = said.kind == eapol.START or (invited and said.identity is not None)
            if "dot1x" not in port.params.methods or not wanted or not _of_a_host(said.mac):
                port.counters["not_expected"] += 1
                return []
            session, effects = self._admit(port, said.mac, at)
            if session is None:
                return effects
            if said.kind == eapol.EAP:
                session.invite(said.identifier)
        dropped = list[str]()
        done = session.hear(said, at, dropped.append)
        effects = [effect for name in dropped for effect in self._drop(port, said.mac, name)]
        return effects + self._hosts.follow(port, session, done)

    def _drop(self, port: ControlledPort, mac: int, name: str) -> list[Effect]:
        """Count a frame that is dropped; an event names the port where a host exceeds a limit."""
        if name == Limit.STARTS.value:
            return self._too_early(port, mac, f"{format_mac(mac)} begins 802.1X too often")
        port.count(name)
        return []

    def _has_to_wait(self, port: ControlledPort, mac: int) -> list[Effect]:
        why = f"hosts end and begin sessions too often, and {format_mac(mac)} has to wait"
        return self._too_early(port, mac, why)

    def _too_early(self, port: ControlledPort, mac: int, why: str) -> list[Effect]:
        """Count that a host begins too early; an event names the port."""
        if not self._timers.exceed(port, Limit.STARTS):
            return []
        text = PortNumber(port.port.number), f": {why}"
        return [STARTS.event(text, port.port.number, {"mac": format_mac(mac)})]

    def hear_first(self, port: ControlledPort, frame: bytes, at: float) -> list[Effect]:
        """Handle a frame of a host that is not admitted."""
        ethernet = read_ethernet(frame)
        if isinstance(ethernet, Malformed):
            port.counters[ethernet.reason] += 1
            return []
        if ethernet.mac in port.sessions or not _of_a_host(ethernet.mac):
            return []
        session, effects = self._admit(port, ethernet.mac, at)
        if session is None:
            return effects
        return self._hosts.follow(port, session, session.begin(at))

    def _admit(
        self, port: ControlledPort, mac: int, at: float
    ) -> tuple[Session | None, list[Effect]]:
        """A session for a host that is new on the port; None where a limit of the port is met."""
        if port.must_rest(at):
            return None, self._has_to_wait(port, mac)
        if not port.room:
            if not self._timers.exceed(port, Limit.HOSTS):
                return None, []
            limit, text = len(port.sessions), (PortNumber(port.port.number), " has its hosts")
            data = {"limit": limit, "mac": format_mac(mac)}
            return None, [
                FULL.event((*text, f", and refuses {format_mac(mac)}"), port.port.number, data)
            ]
        session = Session(mac, self._servers.new_ident(), port.params, at)
        port.sessions[mac] = session
        return session, []


def _of_a_host(mac: int) -> bool:
    return bool(mac) and not is_group(mac)


_CLEARED = {
    Limit.HOSTS: (FULL_CLEARED, " refuses no further host any more", "refused"),
    Limit.QUESTIONS: (BUSY_CLEARED, ": no host waits for its question any more", "waited"),
    Limit.STARTS: (STARTS_CLEARED, ": no host begins too often any more", "dropped"),
}
"""Event of the end of an exceeded limit, its text, and its field with the counter."""


class Wakeups:
    """The bridge, ports and hosts whose timers are due."""

    def __init__(self, state: BridgeState, timers: Timers, servers: Servers, hosts: Hosts) -> None:
        self._state = state
        self._timers = timers
        self._servers = servers
        self._hosts = hosts

    def tick(self, at: float) -> list[Effect]:
        """Let those act that are due; of many hosts, some at a time."""
        effects = list[Effect]()
        for when, key in self._timers.take(at):
            if key == POLICIES:
                effects += self._hosts.renew()
                continue
            port = self._hosts.ports.get(key[0])
            if port is None:
                continue
            if not key[1]:
                effects += self._tick_port(port, at)
                continue
            session = port.sessions.get(key[1])
            if session is not None and session.interim == when:
                effects.append(self._servers.report_interim(port, session))
            if session is not None and session.acts == when:
                if session.asked is not None:  # no answer is expected any more
                    self._servers.take_asked(session.asked)
                done = session.tick(at, self._idle(port, session))
                effects += self._hosts.follow(port, session, done)
                effects += self._servers.ask_next(port)
        return effects

    def _tick_port(self, port: ControlledPort, at: float) -> list[Effect]:
        effects, number = list[Effect](), port.port.number
        for limit in [limit for limit, until in port.limited.items() if until <= at]:
            del port.limited[limit]
            kind, what, counted = _CLEARED[limit]
            data = {counted: port.counters[limit.value]}
            effects.append(kind.event((PortNumber(number), what), number, data))
        if port.due is not None and port.due <= at:
            port.due = None
            if not port.sessions:
                request = eapol.identity_request(port.invite())
                octets = eapol.frame(eapol.PAE_GROUP, port.port.mac, request)
                effects.append(SendFrame(frozenset([number]), octets))
                self._hosts.request_soon(port, at + port.pause)
        return effects

    def _idle(self, port: ControlledPort, session: Session) -> bool:
        """Whether the bridge has no address of a host any more; known where addresses age."""
        fdb, params = self._state.learning.fdb, self._state.params
        here = port.port.number
        known = any(
            entry.port == here
            for table in fdb.tables.values()
            if (entry := table.get(session.mac)) is not None
        )
        return not known and bool(params.ageing_time) and self._learns(here)

    def _learns(self, number: int) -> bool:
        return self._state.port_policies.policy(number).learning
