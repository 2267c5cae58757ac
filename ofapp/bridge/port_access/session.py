"""The authenticator of one host (802.1X-2020 clause 8), with MAC authentication beside it.

The machine relays EAP as RFC 4137 clause 6 (backend of a pass-through authenticator) and RFC 3579
have it, and repeats requests as RFC 3748 4.3.  A host that is authorised keeps its grant while it
is authenticated again: only a refusal, or a host that does not answer any more, ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.answer import (
    IDLE,
    LOGGED_OFF,
    NO_ANSWER,
    NO_RIGHTS,
    TIMED_OUT,
    Answer,
    Grant,
    Rights,
)
from ofapp.bridge.port_access.eapol import Eapol
from ofapp.bridge.port_access.params import PortParams

SERVER_PATIENCE = 300.0
"""Seconds after which a question counts as not answered: the controller gives up much sooner."""
START_INTERVAL = 1.0
"""Least seconds between two EAPOL-Start of a host that begin an authentication."""
MOST_STARTS = 3
"""EAPOL-Start of an authorised host that begin an authentication without ending one before
(reAuthMax, 802.1X-2004 8.2.4.1.2).  More would keep its grant beyond the Session-Timeout."""


START_TOO_EARLY = "start_too_early"
"""Counter of beginnings that exceed a limit."""


class Phase(Enum):
    """What a session waits for."""

    CONNECTING = "connecting"  # for an identity
    SERVER = "asking the server"
    HOST = "asking the host"
    AUTHORISED = "authorised"  # for the next authentication
    HELD = "held"  # for the end of the quiet period
    GONE = "gone"


class Do(NamedTuple):
    """What a session wants done: send `eap` to the host, or ask the server about it."""

    ask: bool
    eap: bytes


@dataclass(slots=True)
class Session:
    """One host of a controlled port.

    ident: for accounting and display; user: its identity, in MAC authentication its address.
    granted_user: the identity that a server has authorised last; a host may claim another one.
    due: when it next acts by itself; asked: number of the question that waits for its answer.
    ends: when its Session-Timeout ends its grant, also while it is authenticated again; or None.
    left: methods to try when the present one fails.
    refused: methods by which a server has refused the host, with its identity and Reply-Message.
    why: why it is not authorised; message: the server's Reply-Message.
    demanded: an operator or a server wants it authenticated again, also if the host is silent.
    starts: EAPOL-Start since the last authentication that ended.
    followed: the grant and the phase that its port has followed.
    classes: for accounting; accounted: its start was reported; interim: when it is next reported.
    """

    mac: int
    ident: str
    params: PortParams
    since: float
    phase: Phase = Phase.GONE
    method: str = ""
    grant: Grant | None = None
    user: bytes = b""
    granted_user: bytes = b""
    due: float | None = None
    ends: float | None = None
    asked: int | None = None
    left: tuple[str, ...] = ()
    tries: int = 0
    eap: bytes = b"\0\0"
    state: bytes = b""
    refused: tuple[tuple[str, bytes, str], ...] = ()
    why: str = ""
    message: str = ""
    demanded: bool = False
    started: float | None = None
    starts: int = 0
    classes: tuple[bytes, ...] = ()
    accounted: bool = False
    interim: float | None = None
    followed: tuple[Grant | None, Phase] = None, Phase.GONE

    @property
    def by_server(self) -> bool:
        """Whether a server has authorised the host."""
        return self.grant is not None and self.grant.by_server

    @property
    def claims(self) -> bool:
        """Whether it claims another identity than the one that a server has authorised."""
        return self.by_server and self.user != self.granted_user

    @property
    def account(self) -> bytes:
        """The user of its grant by a server; without one the identity that it claims."""
        return self.granted_user if self.by_server else self.user

    @property
    def acts(self) -> float | None:
        """When it next acts by itself, or its grant ends; None for never."""
        return min((each for each in (self.due, self.ends) if each is not None), default=None)

    def is_over(self, now: float) -> bool:
        """Whether its Session-Timeout has passed, and nothing renews it."""
        return self.ends is not None and self.ends <= now

    def miss(self, seconds: float) -> bool:
        """Count a time in which the host could not be authenticated; whether it ends sooner now.

        A Session-Timeout goes on.  A renewal waits, so that not all hosts are authenticated at once
        afterwards.
        """
        if self.ends is None:
            return False
        self.ends -= seconds
        return bool(seconds)

    # Inputs

    def begin(self, now: float) -> list[Do]:
        """Authenticate the host from the beginning, by the first method."""
        return self._run(self.params.methods[0], now)

    def invite(self, identifier: int) -> None:
        """Take note that the host answers a request for an identity that went to all hosts."""
        self.method, self.phase = "dot1x", Phase.CONNECTING
        self.left = self._others("dot1x")
        self.eap = eapol.identity_request(identifier)

    def hear(self, said: Eapol, now: float, count: Callable[[str], None]) -> list[Do]:
        """Handle a frame of the host.  count: is called with the name of what is dropped."""
        if "dot1x" not in self.params.methods:
            count("not_expected")
            return []
        if said.kind == eapol.LOGOFF:
            if self.grant is None or self.grant.method != "dot1x":
                count("not_expected")
                return []
            self.why, self.grant, self.phase = LOGGED_OFF, None, Phase.GONE
            return [Do(False, eapol.result(False, self.eap[1]))]
        if said.kind == eapol.START:
            return self._start(now, count)
        answers = said.identifier == self.eap[1]
        if self.phase is Phase.CONNECTING and answers and said.identity is not None:
            self.user = said.identity
        elif not (self.phase is Phase.HOST and answers):
            count("not_expected")
            return []
        return self._ask(said.eap, now)

    def _start(self, now: float, count: Callable[[str], None]) -> list[Do]:
        early = self.started is not None and now < self.started + START_INTERVAL
        often = self.grant is not None and self.starts >= MOST_STARTS
        if self.phase is Phase.HELD:
            count("start_while_held")
            return []
        if early or often:
            count(START_TOO_EARLY)
            return []
        self.started = now
        self.starts += 1
        return self._run("dot1x", now)

    def answered(self, answer: Answer, rights: Rights, now: float) -> list[Do]:
        """Handle the server's answer.  rights: those that it gives."""
        self.asked, self.state = None, answer.state
        by_eap = self.method == "dot1x"
        match answer.verdict:
            case "challenge" if by_eap and eapol.is_request(answer.eap):
                return self._request(answer.eap, Phase.HOST, now)
            case "accept":
                self.why, self.message, self.refused = "", answer.message, ()
                self.granted_user = self.user
                self._grant(Grant(self.method, rights), self.params.reauth_period or None, now)
                self._limit(answer, now)
                self.classes = answer.classes
                return [Do(False, self._result(answer, True))] if by_eap else []
            case "silent":
                return self._unanswered(now)
        self.refused += ((self.method, self.user, answer.message),)
        self.message = answer.message or self.message
        self.why = "the server has refused it"
        if answer.verdict == "challenge":
            self.why = "the server has asked for more than a MAC address"
        end = [Do(False, self._result(answer, False))] if by_eap else []
        return [*end, *self._fail(now)]

    def change(self, rights: Rights, answer: Answer, now: float) -> None:
        """Take over other rights of an authorised host (RFC 5176 3).

        answer: has the session's new timeout, if it has one.
        """
        assert self.grant is not None
        self.grant = self.grant._replace(rights=rights)
        self._limit(answer, now)

    def _limit(self, answer: Answer, now: float) -> None:
        """Apply a Session-Timeout: the grant ends then, or the host is authenticated again."""
        if answer.timeout is None:
            return
        at = now + answer.timeout
        self.ends = None if answer.again else at
        if self.phase is Phase.AUTHORISED:
            self.due = at if answer.again else None

    def _result(self, answer: Answer, success: bool) -> bytes:
        wanted = eapol.SUCCESS if success else eapol.FAILURE
        if len(answer.eap) == 4 and answer.eap[0] == wanted:
            return answer.eap
        return eapol.result(success, self.eap[1])

    def tick(self, now: float, silent: bool) -> list[Do]:
        """Act at the time `acts`.  silent: the bridge has no address of the host any more."""
        if self.is_over(now):
            self._end(TIMED_OUT)
            return []
        match self.phase:
            case Phase.CONNECTING | Phase.HOST if self.tries < self.params.max_requests:
                self.tries += 1
                self.due = now + self.params.tx_period
                return [Do(False, self.eap)]
            case Phase.CONNECTING | Phase.HOST:
                self.why = "it does not answer 802.1X"
                return self._fail(now)
            case Phase.SERVER:
                return self.answered(Answer("silent"), NO_RIGHTS, now)
            case Phase.AUTHORISED if self.grant is not None:
                if self.grant.by_server:
                    if silent and self.grant.method == "mab" and not self.demanded:
                        self._end(IDLE)
                        return []
                    return self._run(self.grant.method, now)
                return self.begin(now)
            case _:
                self._end(self.why)
        return []

    # Inside

    def _others(self, method: str) -> tuple[str, ...]:
        """The methods of the port, without this one."""
        return tuple(each for each in self.params.methods if each != method)

    def _run(self, first: str, now: float) -> list[Do]:
        self.method, self.left = first, self._others(first)
        self.refused, self.message, self.demanded = (), "", False
        return self._run_method(now)

    def _run_method(self, now: float) -> list[Do]:
        self.asked, self.state = None, b""
        if self.method == "mab":
            self.user = self.mac.to_bytes(6, "big").hex().encode()
            return self._ask(b"", now)
        identifier = (self.eap[1] + 1) & 0xFF
        return self._request(eapol.identity_request(identifier), Phase.CONNECTING, now)

    def _request(self, eap: bytes, phase: Phase, now: float) -> list[Do]:
        self.phase, self.eap, self.tries = phase, eap, 1
        self.due = now + self.params.tx_period
        return [Do(False, eap)]

    def _ask(self, eap: bytes, now: float) -> list[Do]:
        self.phase, self.due = Phase.SERVER, now + SERVER_PATIENCE
        return [Do(True, eap)]

    def _grant(self, grant: Grant, again: float | None, now: float) -> None:
        if self.grant is None:
            self.since = now
        self.grant, self.phase, self.ends, self.starts = grant, Phase.AUTHORISED, None, 0
        self.due = None if again is None else now + again

    def _unanswered(self, now: float) -> list[Do]:
        """No server has answered: a grant stays, and the host is tried again.

        A host that has claimed another identity by 802.1X has no grant by it.  Some servers leave
        identities without an answer, as those of a realm that is down.
        """
        self.why, quiet = NO_ANSWER, self.params.quiet_period
        claims = self.claims and self.method == "dot1x"
        if self.grant is not None and not claims:
            ends = self.ends
            self._grant(self.grant, quiet, now)
            self.ends = ends
        elif self.params.critical_vlan is not None:
            self._grant(Grant("critical", Rights(self.params.critical_vlan)), quiet, now)
            if self.method == "dot1x":
                return [Do(False, eapol.result(True, self.eap[1]))]
        else:
            self._hold(now)
        return []

    def _fail(self, now: float) -> list[Do]:
        """Try the next method; without one, use a fallback VLAN or hold the host."""
        if self.left:
            self.method, *left = self.left
            self.left = tuple(left)
            return self._run_method(now)
        params = self.params
        if self.refused and params.auth_fail_vlan is not None:
            self._grant(Grant("auth_fail", Rights(params.auth_fail_vlan)), params.quiet_period, now)
        elif not self.refused and params.guest_vlan is not None:
            period = params.reauth_period or None
            self._grant(Grant("guest", Rights(params.guest_vlan)), period, now)
        else:
            self._hold(now)
        return []

    def _hold(self, now: float) -> None:
        self.grant, self.ends = None, None
        self.phase, self.due = Phase.HELD, now + self.params.quiet_period

    def _end(self, why: str) -> None:
        self.phase, self.grant, self.due, self.why = Phase.GONE, None, None, why
