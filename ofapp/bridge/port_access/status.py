"""Queries about controlled ports and their hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac
from ofapp.bridge.port_access.answer import NO_ANSWER, NO_RIGHTS, Rights
from ofapp.bridge.port_access.port import ControlledPort, Limit
from ofapp.bridge.port_access.problems import named, reason, shown
from ofapp.bridge.port_access.session import Phase, Session

Ports = Iterable[ControlledPort]


class HostStatus(NamedTuple):
    """One host of a controlled port.  left: seconds until it acts by itself, None for never."""

    port: str
    mac: int
    user: str
    granted: bool
    phase: str
    method: str
    rights: Rights
    since: float
    left: float | None
    why: str
    reply_message: str


class PortStatus(NamedTuple):
    """A controlled port.  counters: what was dropped and decided, by name."""

    port: str
    authentication: str
    host_mode: str
    hosts: int
    authorised: int
    full: bool
    waiting: int
    counters: Mapping[str, int]


def port_statuses(ports: Ports) -> tuple[PortStatus, ...]:
    """The controlled ports, by number."""
    return tuple(
        PortStatus(
            port.port.name,
            port.params.authentication,
            port.params.host_mode,
            len(port.sessions),
            len(port.granted),
            Limit.HOSTS in port.limited,
            len(port.waiting),
            dict(port.counters),
        )
        for port in _sorted(ports)
    )


def _why(session: Session) -> str:
    """Why a host is not authorised, beside its address; of another host its last failure."""
    if session.grant is not None:
        return session.why
    if session.refused:
        return reason(session).replace(format_mac(session.mac), "the MAC address")
    return session.why or _now(session)


def _is_silent(session: Session) -> bool:
    """Whether authentication waits for the host, and not for a server."""
    return not session.refused and session.phase is not Phase.SERVER


def _now(session: Session) -> str:
    """What the authentication of a host waits for."""
    silent = _is_silent(session)
    return "has not answered 802.1X yet" if silent else "waits for a RADIUS server"


def host_statuses(ports: Ports, at: float, now: float) -> Iterator[HostStatus]:
    """The hosts of all controlled ports.  at: the protocol's time; now: the shell's."""
    for port in _sorted(ports):
        for session in port.sessions.values():
            yield HostStatus(
                port.port.name,
                session.mac,
                shown(session.account),
                session.grant is not None,
                session.phase.value,
                session.method if session.grant is None else session.grant.method,
                NO_RIGHTS if session.grant is None else session.grant.rights,
                now - (at - session.since),
                None if session.acts is None else max(session.acts - at, 0.0),
                _why(session),
                session.message,
            )


class ClosedOut(NamedTuple):
    """A host that is not admitted.  waits: for the host itself, which does not speak 802.1X."""

    port: str
    mac: int
    why: str
    waits: bool


def closed_out(ports: Ports) -> Iterator[ClosedOut]:
    """The hosts that are not admitted, with the reason."""
    for port in ports:
        for each in port.sessions.values():
            if each.grant is None:
                waits = _is_silent(each) and each.why != NO_ANSWER
                why = reason(each) if each.why else f"{named(each)} {_now(each)}"
                yield ClosedOut(port.port.name, each.mac, why, waits)


class SessionFilter(NamedTuple):
    """Session identification attributes of a server (RFC 5176 3); None where it sends none.

    ident: Acct-Session-Id; mac: Calling-Station-Id; user: User-Name; port, port_name: NAS-Port and
    NAS-Port-Id.
    """

    ident: str | None = None
    mac: int | None = None
    user: bytes | None = None
    port: int | None = None
    port_name: str | None = None

    def fits(self, port: ControlledPort, session: Session) -> bool:
        """Whether a session has all that is given."""
        number, name = port.port.number, port.port.name
        its = SessionFilter(session.ident, session.mac, session.account, number, name)
        return all(wanted in (None, value) for wanted, value in zip(self, its, strict=True))


NO_SESSION_FILTER = SessionFilter()


def matching(ports: Ports, wanted: SessionFilter, changes: bool = False) -> list[tuple[str, int]]:
    """Ports and MAC addresses of the hosts whose sessions fit; none without any attribute.

    changes: only hosts that a server has authorised.
    """
    return [
        (port.port.name, session.mac)
        for port in ports
        for session in port.sessions.values()
        if wanted != NO_SESSION_FILTER
        and (session.by_server or not changes)
        and wanted.fits(port, session)
    ]


def selected(
    ports: Ports, port: str | None, mac: int | None
) -> list[tuple[ControlledPort, Session]]:
    """The hosts that an operator names, each with its port; None for any.  Raises InputError."""
    ports = [*ports]
    if port is not None and not any(each.port.name == port for each in ports):
        raise InputError("port", f"{port} is no controlled port that is up")
    found = [
        (each, session)
        for each in ports
        if port in (None, each.port.name)
        for session in each.sessions.values()
        if mac in (None, session.mac)
    ]
    if mac is not None and not found:
        raise InputError("mac", f"no controlled port has a host {format_mac(mac)}")
    return found


def _sorted(ports: Ports) -> list[ControlledPort]:
    return sorted(ports, key=lambda port: port.port.number)
