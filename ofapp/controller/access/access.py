"""Authentication of clients, and their rights.

A caller is identified by a token, by a session that began with one, or by the user that the kernel
reports for a connection to the UNIX socket.  While the API is open, anonymous clients may do
everything but make tokens: on loopback, until the first token is made, and without
`Rules.required`.  After that they may do nothing, until the last token is revoked and the API is
opened with it.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from ofapp.bridge.event import Event
from ofapp.common.buckets import MOST, Buckets
from ofapp.controller.access.events import (
    API_LOGIN_LIMITED,
    API_LOGIN_LIMITED_CLEARED,
    API_LOGIN_REJECTED,
)
from ofapp.controller.access.roles import UserRole
from ofapp.controller.access.sessions import LONGEST, Sessions
from ofapp.controller.access.tokens import Token, Tokens

BURST, EVERY = 10, 5.0
"""Burst of failures of one peer, and seconds for each further one."""

Emit = Callable[[int | None, Event], None]


class Failures:
    """counts: rejected logins, by reason."""

    def __init__(self, emit: Emit) -> None:
        self.counts: Counter[str] = Counter()
        self._emit = emit
        self._buckets = Buckets(BURST, 1 / EVERY)
        self._limited: OrderedDict[str, float] = OrderedDict()  # peers, and until when

    def limited(self, peer: str, now: float) -> bool:
        """Whether this peer has to try later; now: monotonic."""
        until = self._limited.get(peer)
        if until is None:
            return False
        if now < until:
            return True
        del self._limited[peer]
        event = API_LOGIN_LIMITED_CLEARED.event(f"{peer} may try to log in again")
        self._emit(None, event)
        return False

    def failed(self, peer: str, why: str, now: float) -> None:
        """Count and log invalid credentials of a peer."""
        self.counts[why] += 1
        message = f"a login from {peer} was rejected: {why}"
        data = {"peer": peer, "why": why}
        self._emit(None, API_LOGIN_REJECTED.event(message, data=data))
        if not self._buckets.take(peer, now):
            self._limited[peer] = now + EVERY
            if len(self._limited) > MOST:
                self._limited.popitem(last=False)
            message = f"{peer} has failed to log in too often, and has to wait for {EVERY:g} s"
            event = API_LOGIN_LIMITED.event(message, data={"peer": peer})
            self._emit(None, event)


ROOT = 0


@dataclass(frozen=True, slots=True)
class User:
    """User and groups of the process at the other end of a UNIX socket."""

    uid: int
    groups: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials of a client.  peer: the address or network to which its failures count;
    address: its own one; bearer, session: its token and its session's key."""

    peer: str
    address: str
    user: User | None = None
    bearer: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """An identified client.  known: by a token, a session or a user; session: a browser's key."""

    name: str
    role: UserRole
    address: str
    known: bool = True
    token: Token | None = None
    session: str | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.role}) from {self.address}"


@dataclass(frozen=True, slots=True)
class Rules:
    """required: anonymous clients have no rights; own: the user of this process;
    operators: the group whose members are operators over the UNIX socket."""

    required: bool = False
    own: int = ROOT
    operators: int | None = None


class StaleError(Exception):
    """It is unknown now whether credentials are still valid; the message says why."""


class RejectedError(Exception):
    """Invalid credentials.  wait: seconds until the client may retry, None for at once."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass
class Access:
    """Access control of one controller.

    stale: why revocations of tokens may be unknown here; empty while they are known.
    """

    tokens: Tokens
    emit: Emit
    rules: Rules = field(default_factory=Rules)
    stale: Callable[[], str] = lambda: ""

    def __post_init__(self) -> None:
        self.sessions = Sessions()
        self.failures = Failures(self.emit)

    @property
    def closed(self) -> bool:
        """Whether clients have to authenticate."""
        return self.rules.required or self.tokens.made

    def identify(self, given: Credentials) -> Caller:
        """Identify a client.  Raises RejectedError and StaleError."""
        if given.bearer is not None and self.closed:
            return self._by_token(given, given.bearer)
        if given.session is not None and (caller := self._by_session(given, given.session)):
            return caller
        if given.user is not None and (role := self._role_of(given.user)):
            return Caller(_user(given.user), role, given.address)
        if not self.closed:
            name = "anybody" if given.user is None else _user(given.user)
            return Caller(name, UserRole.ADMIN, given.address, known=False)
        if given.user is not None:
            raise RejectedError(
                f"{_user(given.user)} is neither root nor an operator here, and sent no"
                " token: ofapp --api-token-file, or OFAPP_TOKEN"
            )
        raise RejectedError(
            "this asks for a token: send it as Authorization: Bearer (ofapp: --api-token-file, or"
            " OFAPP_TOKEN); root makes one on the controller's machine with ofapp token create"
        )

    def log_in(self, caller: Caller) -> str:
        """Open a session for a client with a token; gives its key."""
        assert caller.token is not None
        return self.sessions.open(caller.token.name, caller.token.digest, time.time())

    def expires(self, caller: Caller) -> float | None:
        """Time at which the client has to log in again, as `time.time()`; None = never."""
        until = None if caller.token is None else caller.token.expires
        session = None
        if caller.session is not None:
            session = self.sessions.find(caller.session, time.time())
        if session is not None:
            end = session.opened + LONGEST
            return end if until is None else min(end, until)
        return until

    def still(self, caller: Caller) -> bool:
        """Whether a long answer, such as a stream of events, may continue."""
        if not caller.known:
            return not self.closed
        if caller.token is None:
            return True
        token = self.tokens.named(caller.token.name)
        if token is None or token.digest != caller.token.digest or token.expired(time.time()):
            return False
        if self.stale():
            return False
        return caller.session is None or (
            self.sessions.find(caller.session, time.time()) is not None
        )

    # Inside

    def _check_current(self) -> None:
        if why := self.stale():
            raise StaleError(f"it is unknown now whether a token was revoked: {why}")

    def _by_token(self, given: Credentials, secret: str) -> Caller:
        self._check_current()
        now = time.monotonic()
        token = self.tokens.find(secret)
        at_home = token is not None and token.used_from == given.peer
        if not at_home and self.failures.limited(given.peer, now):
            self.failures.counts["too many failures"] += 1
            raise RejectedError("too many failed logins from there: try again later", EVERY)
        if token is None or token.expired(time.time()):
            if token is None:
                self.failures.failed(given.peer, "no such token", now)
                raise RejectedError("there is no such token, or not any more")
            self.failures.failed(given.peer, "expired", now)
            raise RejectedError(f"token {token.name} has expired")
        self.tokens.note_use(token, given.peer, time.time())
        return Caller(f"token {token.name}", token.role, given.address, token=token)

    def _by_session(self, given: Credentials, key: str) -> Caller | None:
        self._check_current()
        session = self.sessions.use(key, time.time())
        if session is None:
            return None
        token = self.tokens.named(session.token)
        if token is None or token.digest != session.digest or token.expired(time.time()):
            self.sessions.close(key)
            return None
        self.tokens.note_use(token, given.peer, time.time())
        return Caller(f"token {token.name}", token.role, given.address, token=token, session=key)

    def _role_of(self, user: User) -> UserRole:
        if user.uid in (ROOT, self.rules.own):
            return UserRole.ADMIN
        if self.rules.operators is not None and self.rules.operators in user.groups:
            return UserRole.OPERATOR
        return UserRole.ANYBODY


def _user(user: User) -> str:
    return "root" if user.uid == ROOT else f"uid {user.uid}"
