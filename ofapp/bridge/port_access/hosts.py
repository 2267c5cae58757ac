"""The hosts of all controlled ports: what follows when a host is admitted, refused or gone."""

from __future__ import annotations

from collections.abc import Sequence

from ofapp.bridge.effects import (
    Effect,
    RenewPolicies,
    RenewPort,
    SendFrame,
    SetAccess,
    StateChanged,
)
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.mac import format_mac
from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.answer import (
    LOGGED_OFF,
    MOVED,
    OTHER_USER,
    TIMED_OUT,
    Grant,
)
from ofapp.bridge.port_access.events import AUTHORISED, ENDED, REFUSED
from ofapp.bridge.port_access.params import PortParams
from ofapp.bridge.port_access.port import ControlledPort
from ofapp.bridge.port_access.problems import named, reason, shown, shown_name
from ofapp.bridge.port_access.servers import ADMIN_RESET, Servers, cause_of
from ofapp.bridge.port_access.session import Do, Phase, Session
from ofapp.bridge.port_access.timers import Timers
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import PortVlans
from ofapp.bridge.relay.granted import NOTHING_GRANTED, Granted
from ofapp.bridge.state import BridgeState

NAME = "port_access"
"""The protocol's name, also that of its stored document."""


class Hosts:
    """The hosts of the controlled ports that are up.  ports: these ports by number."""

    def __init__(
        self,
        state: BridgeState,
        ports: dict[int, ControlledPort],
        timers: Timers,
        servers: Servers,
    ) -> None:
        self._state = state
        self._timers = timers
        self._servers = servers
        self._waiting: list[Effect] = []
        self.ports = ports

    # Ports

    def control(
        self, port: Port, params: PortParams, sessions: Sequence[Session], at: float
    ) -> list[Effect]:
        """Control a port from now on.

        sessions: its hosts from before a restart; those whose time has passed meanwhile end.
        """
        controlled = self.ports[port.number] = ControlledPort(port, params)
        for session in sessions:
            session.params, session.followed = params, (session.grant, session.phase)
            controlled.sessions[session.mac] = session
            self._timers.wake(session.acts, (port.number, session.mac))
            if session.accounted:
                self._servers.report_later(controlled, session)
        if not controlled.sessions:
            self.request_soon(controlled, at)
        effects: list[Effect] = [RenewPort(port.number), SetAccess(port.number, None, params.grace)]
        for session in sessions:
            if session.is_over(at):
                effects += self.forget(controlled, session, TIMED_OUT)
            else:
                effects.append(self._access(controlled, session.mac, None))
        return effects

    def drop(self, port: ControlledPort, why: str) -> list[Effect]:
        """Forget a port, with its hosts."""
        effects, before = list[Effect](), self.brings(port)
        for session in [*port.sessions.values()]:
            effects += self.forget(port, session, why)
        del self.ports[port.port.number]
        if before != NOTHING_GRANTED:
            self._timers.renew_soon()
        return effects

    def request_soon(self, port: ControlledPort, at: float) -> None:
        """Ask for an identity at that time, if the port has no host until then."""
        if "dot1x" in port.params.methods:
            port.due = at
            self._timers.wake(at, (port.port.number, 0))

    # Hosts

    def follow(self, port: ControlledPort, session: Session, done: Sequence[Do]) -> list[Effect]:
        """Carry out what a session wants, after its port has followed its grant."""
        number, effects = port.port.number, list[Effect]()
        grant, phase = session.followed
        session.followed = session.grant, session.phase
        if session.phase is Phase.GONE:
            effects += self.forget(port, session, session.why, grant)
        else:
            if session.grant != grant:
                effects += self._regrant(port, session, grant)
                effects += self._servers.account(port, session, ADMIN_RESET)
            if session.phase is Phase.HELD and phase is not Phase.HELD:
                effects.append(_refused(port, session))
            self._timers.wake(session.acts, (number, session.mac))
        for each in done:
            if each.ask:
                effects += self._servers.ask(port, session, each.eap)
            else:
                octets = eapol.frame(session.mac, port.port.mac, each.eap)
                waits = each.eap[0] == eapol.SUCCESS and self.is_behind(port)
                (self._waiting if waits else effects).append(SendFrame(frozenset([number]), octets))
        return effects

    def _regrant(
        self, port: ControlledPort, session: Session, before: Grant | None
    ) -> list[Effect]:
        """Apply a host's new grant, or that it has none any more.  before: its former grant."""
        number, grant, effects = port.port.number, session.grant, list[Effect]()
        if grant is None:
            return [*self._close(port, session.mac), StateChanged(NAME)]
        if before is None:
            port.count("authorised")
            for other in self._elsewhere(port, session, grant):
                effects += self.forget(*other, MOVED)
            if port.params.host_mode != "multi_auth":
                for rival in [each for each in port.sessions.values() if each is not session]:
                    effects += self.forget(port, rival, "another host was authorised")
        if self.is_behind(port):
            self._timers.renew_soon()
        return [
            *effects,
            RenewPort(number),
            self._access(port, session.mac, None),
            _authorised(port, session, grant),
            StateChanged(NAME),
        ]

    def _elsewhere(
        self, port: ControlledPort, session: Session, grant: Grant
    ) -> list[tuple[ControlledPort, Session]]:
        """The sessions of the same host on other ports that end by a new grant.

        A fallback ends no session that a server has authorised: any host gets a fallback with the
        MAC address of another host.
        """
        ports = (other for other in self.ports.values() if other is not port)
        found = [(each, there) for each in ports if (there := each.sessions.get(session.mac))]
        return [each for each in found if grant.by_server or not each[1].by_server]

    def forget(
        self, port: ControlledPort, session: Session, why: str, grant: Grant | None = None
    ) -> list[Effect]:
        """Remove a host from its port.  grant: its last one, if it has none any more."""
        grant = grant or session.grant
        del port.sessions[session.mac]
        port.waiting.pop(session.mac, None)
        if not port.sessions:
            self.request_soon(port, self._timers.seen + port.params.tx_period)
        if grant is None:
            return []
        if why in (LOGGED_OFF, MOVED):
            port.note_end(self._timers.seen)
        effects = self._close(port, session.mac)
        session.grant = None
        effects += self._servers.account(port, session, cause_of(why))
        return [*effects, _ended(port, session, grant, why), StateChanged(NAME)]

    def end_user(self, port: ControlledPort, session: Session) -> list[Effect]:
        """End the session of a host's former user; the port stays open for the next one."""
        grant = session.grant
        assert grant is not None
        port.count("ended")
        port.note_end(self._timers.seen)
        session.grant, session.followed = None, (None, session.phase)
        effects = self._servers.account(port, session, cause_of(OTHER_USER))
        session.ident = self._servers.new_ident()
        return [*effects, _ended(port, session, grant, OTHER_USER)]

    def _close(self, port: ControlledPort, mac: int) -> list[Effect]:
        """Close a port for a host that was authorised, and forget its address."""
        port.count("ended")
        if self.is_behind(port):
            self._timers.renew_soon()
        number, access = port.port.number, self._access(port, mac, port.params.grace)
        return [RenewPort(number), access, *self._state.relay.flush(number, None, access.mac)]

    def _access(self, port: ControlledPort, mac: int, grace: float | None) -> SetAccess:
        """The effect that a host has access now, or not; with `multi` all hosts of the port."""
        every = port.params.host_mode == "multi"
        return SetAccess(port.port.number, None if every else mac, grace)

    # What hosts bring to ports

    def brings(self, port: ControlledPort) -> Granted:
        """What the hosts of a port bring to it."""
        return port.brings(self.own_vlans(port))

    def own_vlans(self, port: ControlledPort) -> PortVlans:
        """The VLANs of a port, as configured."""
        return self._state.params.port(port.port.name, port.port.number).vlans

    def is_behind(self, port: ControlledPort) -> bool:
        """Whether a port does not have yet what its hosts bring to it."""
        granted = self._state.port_policies.granted.get(port.port.name, NOTHING_GRANTED)
        return granted != self.brings(port)

    def renew(self) -> list[Effect]:
        """Apply what hosts bring now; frames that waited for it follow."""
        self._timers.renewal, waiting, self._waiting = None, self._waiting, []
        return [RenewPolicies(), *waiting]


def _about(session: Session, **more: object) -> dict[str, object]:
    return {"mac": format_mac(session.mac), "user": shown(session.user)} | more


def _authorised(port: ControlledPort, session: Session, grant: Grant) -> Event:
    text = (
        PortNumber(port.port.number),
        f": {named(session)} is authorised by {grant.method}{grant.rights.in_words()}",
    )
    data = _about(session, method=grant.method, **grant.rights.as_data())
    return AUTHORISED.event(text, port.port.number, data)


def _refused(port: ControlledPort, session: Session) -> Event:
    port.count("refused")
    text = (PortNumber(port.port.number), f": {reason(session)}")
    about = {"method": session.method, "why": session.why, "reply_message": session.message}
    return REFUSED.event(text, port.port.number, _about(session, **about))


def _ended(port: ControlledPort, session: Session, grant: Grant, why: str) -> Event:
    user = session.granted_user if grant.by_server else session.user
    host = shown_name(session, grant.method, user)
    text = (PortNumber(port.port.number), f": {host} is not authorised any more: {why}")
    about = {"user": shown(user), "method": grant.method, "why": why}
    return ENDED.event(text, port.port.number, _about(session, **about))
