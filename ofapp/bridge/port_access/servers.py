"""RADIUS servers: questions to them, rights in their answers, their silence, and accounting.

A port has `MOST_QUESTIONS` open questions at a time, also those whose host has begun again
meanwhile.  So hosts of one port do not delay those of others, however many MAC addresses they use.
Further questions of the port wait, one for each host.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ofapp.bridge.effects import AccountSession, AskServer, Effect
from ofapp.bridge.event import PortNumber
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac
from ofapp.bridge.port_access.answer import (
    CLEARED,
    IDLE,
    LOGGED_OFF,
    NO_RIGHTS,
    OTHER_USER,
    TIMED_OUT,
    Answer,
    Rights,
)
from ofapp.bridge.port_access.events import BUSY, SILENT, SILENT_CLEARED
from ofapp.bridge.port_access.port import ControlledPort, Limit
from ofapp.bridge.port_access.session import Phase, Session
from ofapp.bridge.port_access.timers import Key, Timers
from ofapp.bridge.ports.vlan import PortVlans
from ofapp.bridge.state import BridgeState

MOST_QUESTIONS = 16
"""Open questions of one port: a sixteenth of those that a client of the servers sends at a time."""
_START, _STOP, _INTERIM = 1, 2, 3
"""Acct-Status-Type (RFC 2866 5.1)."""
_LOST_CARRIER, ADMIN_RESET = 2, 6
_CAUSES = {LOGGED_OFF: 1, IDLE: 4, TIMED_OUT: 5, CLEARED: ADMIN_RESET, OTHER_USER: 19}
"""Acct-Terminate-Cause by reason (RFC 2866 5.10; 19 is Supplicant Restart, RFC 3580 2.1)."""


def cause_of(why: str) -> int:
    """Acct-Terminate-Cause of a reason in words."""
    return _CAUSES.get(why, _LOST_CARRIER)


class Servers:
    """What the servers are asked and told.

    number: that of the last question or session.
    silent: why the last question has no answer; empty if it has.
    """

    def __init__(self, state: BridgeState, timers: Timers) -> None:
        self._state = state
        self._timers = timers
        self._asked: dict[int, Key] = {}
        self._open: Counter[int] = Counter()  # questions, by the number of their port
        self.number = 0
        self.silent = ""

    def new_ident(self) -> str:
        """The name of a new session in accounting."""
        self.number += 1
        return f"{self._state.datapath_id:016x}-{self.number:08x}"

    # Questions and answers

    def ask(self, port: ControlledPort, session: Session, eap: bytes) -> list[Effect]:
        """Ask whether a host is admitted, at once or when the port has room for the question.

        eap: the host's message, empty for its MAC address.
        """
        number, mac = port.port.number, session.mac
        if self._open[number] < MOST_QUESTIONS:
            return [self._ask(port, session, eap)]
        port.waiting[mac] = eap
        if not self._timers.exceed(port, Limit.QUESTIONS):
            return []
        text = PortNumber(number), f" has {MOST_QUESTIONS} open questions to RADIUS servers; "
        data = {"limit": MOST_QUESTIONS, "mac": format_mac(mac)}
        return [BUSY.event((*text, f"{format_mac(mac)} waits"), number, data)]

    def ask_next(self, port: ControlledPort) -> list[Effect]:
        """Ask about hosts that have waited, as far as there is room."""
        effects = list[Effect]()
        while port.waiting and self._open[port.port.number] < MOST_QUESTIONS:
            mac = next(iter(port.waiting))
            eap, session = port.waiting.pop(mac), port.sessions.get(mac)
            if session is not None and session.phase is Phase.SERVER and session.asked is None:
                effects.append(self._ask(port, session, eap))
        return effects

    def _ask(self, port: ControlledPort, session: Session, eap: bytes) -> AskServer:
        self.number += 1
        session.asked = self.number
        number = port.port.number
        self._asked[self.number] = number, session.mac
        self._open[number] += 1
        about = number, port.port.name, session.mac, session.user, session.ident
        return AskServer(self.number, *about, eap, session.state)

    def take_asked(self, number: int) -> Key | None:
        """The host of a question, once; None for a question that is not open."""
        key = self._asked.pop(number, None)
        if key is not None:
            self._open[key[0]] -= 1
        return key

    def rights(self, port: ControlledPort, own: PortVlans, answer: Answer) -> tuple[Answer, Rights]:
        """The answer, with the rights that it gives; a rejection if they cannot be given here.

        own: the port's VLANs, as configured.
        """
        if answer.verdict != "accept":
            return answer, NO_RIGHTS
        try:
            return answer, answer.rights(own, port.each_host, self._state.params)
        except InputError as error:
            return replace(answer, verdict="reject", message=str(error)), NO_RIGHTS

    def note_silence(self, answer: Answer) -> list[Effect]:
        """Note whether a server has answered; an event says when that changes."""
        params, before = self._state.params.port_access, self.silent
        servers = "" if params is None else params.servers
        why = answer.message or f"no RADIUS server answers ({servers or 'none is set'})"
        self.silent = why if answer.verdict == "silent" else ""
        if bool(self.silent) is bool(before):
            return []
        if self.silent:
            return [SILENT.event(self.silent, data={"servers": servers})]
        return [SILENT_CLEARED.event("a RADIUS server answers again", data={"servers": servers})]

    # Accounting

    def account(self, port: ControlledPort, session: Session, cause: int) -> list[AccountSession]:
        """Report that a session has begun or ended.  cause: why it has ended."""
        runs = session.by_server
        params = self._state.params.port_access
        if runs is session.accounted or (runs and (params is None or not params.accounting)):
            return []
        session.accounted, session.interim = runs, None
        if runs:
            self.report_later(port, session)
        return [self._report(port, session, _START if runs else _STOP, 0 if runs else cause)]

    def report_interim(self, port: ControlledPort, session: Session) -> AccountSession:
        """Report a session that goes on, and set the time of its next report."""
        self.report_later(port, session)
        return self._report(port, session, _INTERIM)

    def report_later(self, port: ControlledPort, session: Session) -> None:
        """Set the time of a session's next interim report."""
        params = self._state.params.port_access
        period = 0 if params is None else params.interim_period
        session.interim = self._timers.seen + period if period else None
        self._timers.wake(session.interim, (port.port.number, session.mac))

    def _report(
        self, port: ControlledPort, session: Session, status: int, cause: int = 0
    ) -> AccountSession:
        user = session.granted_user
        about = port.port.number, port.port.name, session.mac, user, session.ident
        seconds = 0 if status == _START else int(self._timers.seen - session.since)
        return AccountSession(status, *about, seconds, cause, session.classes)
