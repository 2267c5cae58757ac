"""Port access control on a bridge: the inputs that it gets, and the values that it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ofapp.bridge.effects import Effect, RenewPolicies, SetAccess, StateChanged
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac
from ofapp.bridge.params.params import BridgeParams as AllParams
from ofapp.bridge.port_access.answer import CLEARED, Answer, Rights
from ofapp.bridge.port_access.hosts import NAME, Hosts
from ofapp.bridge.port_access.inputs import Frames, Wakeups
from ofapp.bridge.port_access.params import BridgeParams, PortParams
from ofapp.bridge.port_access.port import Admission, ControlledPort
from ofapp.bridge.port_access.problems import problems as port_access_problems
from ofapp.bridge.port_access.problems import stays_open
from ofapp.bridge.port_access.servers import Servers
from ofapp.bridge.port_access.session import Phase, Session
from ofapp.bridge.port_access.status import (
    ClosedOut,
    HostStatus,
    PortStatus,
    SessionFilter,
    closed_out,
    host_statuses,
    matching,
    port_statuses,
    selected,
)
from ofapp.bridge.port_access.stored import restored, row
from ofapp.bridge.port_access.timers import Timers
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.relay.granted import NOTHING_GRANTED, Granted
from ofapp.bridge.state import BridgeState
from ofapp.common.portions import AT_ONCE, Portions


class PortAccess(Protocol[BridgeParams]):
    """The controlled ports of a bridge.

    A controlled port is up: when its link goes down, its hosts are forgotten.
    """

    name = NAME
    hears = ("eapol", "first_frame")

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        ports: dict[int, ControlledPort] = {}
        self._timers = Timers(ports)
        self._servers = Servers(state, self._timers)
        self._hosts = Hosts(state, ports, self._timers, self._servers)
        self._frames = Frames(self._timers, self._servers, self._hosts)
        self._wakeups = Wakeups(state, self._timers, self._servers, self._hosts)
        self._stored: dict[str, list[Session]] = {}

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Control new ports that are up; forget the hosts of ports that are down."""
        at = self._timers.at(now)
        effects = [effect for port in ports for effect in self._put(port, at)]
        there = filter(None, (self._hosts.ports.get(port.number) for port in ports))
        if any(map(self._hosts.is_behind, there)):
            effects.append(RenewPolicies())
        return effects

    def _put(self, port: Port, at: float) -> list[Effect]:
        params = self._params_of(port, self._state.params)
        there = self._hosts.ports.get(port.number)
        stored = [each for each in self._stored.pop(port.name, []) if self._has_list(each)]
        usable = params is not None and self._state.usable(port)
        if there is not None and usable:
            there.port = port
            return []
        effects = list[Effect]()
        if there is None and params is not None and (usable or stored):
            effects = self._hosts.control(port, params, stored, at)
            there = self._hosts.ports[port.number]
        if there is not None and not usable:
            effects += self._hosts.drop(there, "the link is down")
        return effects

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Forget ports that are gone, with their hosts."""
        self._timers.at(now)
        ports = self._hosts.ports
        gone = [port for number in numbers if (port := ports.get(number)) is not None]
        return [effect for port in gone for effect in self._hosts.drop(port, "the port is gone")]

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Forget the stored hosts of ports that the switch does not have any more."""
        there = {*names.values()}
        self._stored = {name: hosts for name, hosts in self._stored.items() if name in there}
        return []

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Apply changed parameters.

        A port whose hosts are authenticated in another way begins again; periods apply from the
        next time on.
        """
        at, effects = self._timers.at(now), list[Effect]()
        for port in self._state.ports:
            params = self._params_of(port, self._state.params)
            there = self._hosts.ports.get(port.number)
            if there is not None and params is not None and _alike(there.params, params):
                there.params = params
                for session in [*there.sessions.values()]:
                    session.params = params
                    if not self._has_list(session):
                        effects += self._hosts.forget(there, session, "its access list is gone")
                continue
            if there is not None:
                effects += self._hosts.drop(there, "the configuration has changed")
            if params is not None:
                effects += self._put(port, at)
            elif there is not None:  # the port is open
                effects.append(SetAccess(port.number, None, None))
        return effects

    def _has_list(self, session: Session) -> bool:
        """Whether the access list of a host, if it has one, exists."""
        acl = "" if session.grant is None else session.grant.rights.acl
        return not acl or acl in self._state.params.policies.acls

    # Frames and answers

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle EAPOL frames, and first frames of hosts that are not admitted."""
        at, effects = self._timers.at(now), list[Effect]()
        hear = self._frames.hear_eapol if kind == "eapol" else self._frames.hear_first
        for number, frame in frames:
            if (port := self._hosts.ports.get(number)) is not None:
                effects += hear(port, frame, at)
        return effects

    def answer(self, number: int, answer: Answer, now: float) -> list[Effect]:
        """Handle the answer of a server to `AskServer`; an answer that is too late is ignored.

        The bridge carries the effects out (`Bridge.carry_out`).
        """
        at = self._timers.at(now)
        effects = self._servers.note_silence(answer)
        key = self._servers.take_asked(number)
        port = None if key is None else self._hosts.ports.get(key[0])
        if key is None or port is None:
            return effects
        session = port.sessions.get(key[1])
        if session is not None and session.asked == number:
            answer, rights = self._servers.rights(port, self._hosts.own_vlans(port), answer)
            if answer.verdict == "accept" and session.claims:
                effects += self._hosts.end_user(port, session)
            done = session.answered(answer, rights, at)
            effects += self._hosts.follow(port, session, done)
        return effects + self._servers.ask_next(port)

    def change(self, name: str, mac: int, answer: Answer, now: float) -> list[Effect]:
        """Change the rights of a host as a server demands; without new ones the others stay.

        name: the name of the port.  The bridge carries the effects out.  Raises InputError.
        """
        at = self._timers.at(now)
        rights = self.changed_rights(name, mac, answer)
        ((port, session),) = selected(self._hosts.ports.values(), name, mac)
        session.change(rights, answer, at)
        return [*self._hosts.follow(port, session, ()), StateChanged(self.name)]

    def changed_rights(self, name: str, mac: int, answer: Answer) -> Rights:
        """The rights that a host would have after `change`.  Raises InputError."""
        ((port, session),) = selected(self._hosts.ports.values(), name, mac)
        if session.grant is None or not session.by_server:
            raise InputError("mac", f"{format_mac(mac)} is not authorised by a server")
        own, params = self._hosts.own_vlans(port), self._state.params
        return answer.rights(own, port.each_host, params, session.grant.rights)

    # Time

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`.  Of many hosts that are due, some at a time."""
        return self._wakeups.tick(self._timers.at(now)) if self._timers.runs else []

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return self._timers.next_wakeup()

    def beat(self, now: float) -> None:
        """Note that the controller runs, and the time for what is stored next."""
        self._timers.beat(now)

    def pause(self, now: float) -> None:
        """Pause while the switch is disconnected: hosts can answer nothing."""
        self._timers.pause(now)

    def resume(self, now: float) -> None:
        """Wait after the switch has reconnected, until its flows are known."""
        self._timers.pause(now)

    def go_on(self, now: float) -> list[Effect]:
        """Run again.  A Session-Timeout goes on while the switch is disconnected."""
        missed = self._timers.resume(now)
        for number, port in self._hosts.ports.items():
            for session in port.granted:
                if session.miss(missed):
                    self._timers.wake(session.acts, (number, session.mac))
        return []

    # Values

    def desired_port(self, port: Port, params: AllParams) -> Admission | None:
        """Return the hosts that a port admits; None for a port that is not controlled."""
        wanted = self._params_of(port, params)
        if wanted is None:
            return None
        there = self._hosts.ports.get(port.number)
        if there is None or not _alike(there.params, wanted):
            return Admission()
        own = params.port(port.name, port.number).vlans
        granted = self._state.port_policies.granted.get(port.name, NOTHING_GRANTED)
        return there.admission(own, granted.vlans)

    def granted(self) -> dict[str, Granted]:
        """What hosts bring to their ports, by the name of the port."""
        ports = self._hosts.ports.values()
        brought = ((port.port.name, self._hosts.brings(port)) for port in ports)
        return {name: granted for name, granted in brought if granted != NOTHING_GRANTED}

    def _params_of(self, port: Port, params: AllParams) -> PortParams | None:
        """The parameters of a controlled port; None for one that is open.

        The bridge's own port and aggregations are no ports where hosts plug in.
        """
        if params.port_access is None or port.number == LOCAL_PORT or port.name in params.lags:
            return None
        wanted = params.port(port.name, port.number).port_access
        return wanted if wanted.methods else None

    def problems(self, now: float) -> Iterator[Problem]:
        """Servers that do not answer, refused hosts, and ports that are full, busy or open."""
        if self.params is not None:
            ports, silent = self._hosts.ports.values(), self._servers.silent
            yield from port_access_problems(ports, self.params.servers, silent)
            yield from stays_open(self._state.params, self._state.ports.get(LOCAL_PORT))

    def status(self, now: float) -> tuple[PortStatus, ...]:
        """The controlled ports."""
        return port_statuses(self._hosts.ports.values())

    def hosts(self, now: float) -> Iterator[HostStatus]:
        """The hosts of all controlled ports."""
        return host_statuses(self._hosts.ports.values(), self._timers.then(now), now)

    def locked(self) -> Iterator[tuple[int, int]]:
        """Hosts that wait for MAC authentication: the number of the port and the MAC address."""
        for number, port in self._hosts.ports.items():
            if "mab" in port.params.methods:
                yield from ((number, mac) for mac, each in port.sessions.items() if not each.grant)

    def closed_out(self) -> Iterator[ClosedOut]:
        """Return the hosts that are not admitted, with the reason."""
        return closed_out(self._hosts.ports.values())

    def matching(self, wanted: SessionFilter, changes: bool = False) -> list[tuple[str, int]]:
        """Ports and MAC addresses of hosts, see `status.matching`."""
        return matching(self._hosts.ports.values(), wanted, changes)

    # Requests

    def reauthenticate(self, port: str | None, mac: int | None, now: float) -> list[Effect]:
        """Authenticate hosts again at once; they stay authorised meanwhile.  Raises InputError."""
        at = self._timers.at(now)
        for at_port, session in selected(self._hosts.ports.values(), port, mac):
            if session.phase is Phase.AUTHORISED:
                session.due, session.demanded = at, True
                self._timers.wake(at, (at_port.port.number, session.mac))
        return []

    def clear(self, port: str | None, mac: int | None, now: float) -> list[Effect]:
        """Forget hosts, also those that are held: each begins again.  Raises InputError."""
        at, effects = self._timers.at(now), list[Effect]()
        for at_port, session in selected(self._hosts.ports.values(), port, mac):
            effects += self._hosts.forget(at_port, session, CLEARED)
            if not at_port.sessions:
                self._hosts.request_soon(at_port, at)
        return effects

    # The stored document

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any]:
        """The hosts that are authorised, with the seconds that are left of each grant."""
        hosts = [
            row(port.port.name, session, self._timers.seen)
            for port in portions.of(list(self._hosts.ports.values()))
            for session in port.granted
        ]
        stored = [
            row(name, session, self._timers.seen)
            for name, all_ in self._stored.items()
            for session in all_
        ]
        return {"number": self._servers.number, "hosts": [*hosts, *stored]}

    def restore(self, data: Any) -> list[str]:
        """Restore a dump before any port is present, and wait for `go_on`.

        passed: the seconds since the dump; a grant that has ended meanwhile is not restored.
        """
        self._timers.restart()
        self._servers.number, self._stored, faults = restored(data)
        return faults


def _alike(one: PortParams, other: PortParams) -> bool:
    """Whether hosts are authenticated in the same way."""
    return (one.authentication, one.host_mode) == (other.authentication, other.host_mode)
