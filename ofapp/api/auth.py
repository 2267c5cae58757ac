"""Authentication and authorization of requests, and the audit of changes.

A route is refused unless it declares the role that it needs (`api.roles`).  Unauthenticated callers
learn nothing, not even which routes exist.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import cast

from flask import Flask, Response, g, request

from ofapp.api.http.bounds import Party
from ofapp.api.http.connection_limiter import CONNECTION, Connection
from ofapp.api.http.path import shown
from ofapp.api.problems import AGAIN, ProblemError
from ofapp.api.roles import is_for_sessions, is_local, role_of
from ofapp.controller.access import Access, Caller, Credentials, RejectedError, StaleError, UserRole
from ofapp.controller.audit import Audit

SOCKET = "the socket"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="ofapp"'}
"""Header of 401 (RFC 6750)."""
_CHANGING = ("PUT", "POST", "PATCH", "DELETE")
_LONGEST = 500


class Authorizer:
    """Checks all requests of an application.  local: served on loopback, so without a DNS name.

    member: finds the caller that a member of the cluster acts for, or raises RejectedError.
    Without a cluster there is no listener for members either.
    """

    member: Callable[[], Caller] | None = None

    def __init__(self, app: Flask, access: Access, audit: Audit, local: bool) -> None:
        self._access = access
        self._audit = audit
        self._local = local
        self._views = app.view_functions
        app.before_request(self._admit)
        app.after_request(self._part)

    def _admit(self) -> None:
        peer = connection()
        if peer is not None and peer.inside:
            self._admit_member()
        else:
            self._admit_client()

    def _admit_member(self) -> None:
        """Accept only what a member has signed: neither tokens nor an open API."""
        try:
            self._check_current(always=True)
            if self.member is None:
                raise RejectedError("this is for members of a cluster, and there is none")
            caller = self.member()
        except RejectedError as error:
            raise _rejection(error) from None
        self._check_role(caller)
        g.caller = caller
        if request.method in _CHANGING:
            self._audit.begin()

    def _admit_client(self) -> None:
        credentials = _credentials()
        if self._local and credentials.user is None and not self._access.closed:
            _check_host(request.host)
        changing = request.method in _CHANGING
        from_page = _is_own_page() if changing else None
        try:
            caller = self._access.identify(credentials)
        except RejectedError as error:
            if credentials.bearer is not None or self._needed() is not UserRole.ANYBODY:
                raise _rejection(error) from None
            caller = Caller("anybody", UserRole.ANYBODY, credentials.address, known=False)
        except StaleError as error:
            if self._needed() is not UserRole.ANYBODY:
                raise ProblemError(503, str(error), headers=AGAIN) from None
            caller = Caller("anybody", UserRole.ANYBODY, credentials.address, known=False)
        if changing and caller.session is not None and not from_page:
            raise ProblemError(403, "a browser's session changes only what its own page asks for")
        self._check_role(caller)
        self._check_current()
        g.caller = caller
        if changing:
            self._audit.begin()

    def _needed(self) -> UserRole | None:
        """The role that the route needs, None if undeclared; for unknown paths, viewer.

        So callers that may not read cannot find out which paths exist.
        """
        view = self._view()
        return UserRole.VIEWER if view is None else role_of(view)

    def _view(self) -> object:
        return None if request.endpoint is None else self._views[request.endpoint]

    def _check_current(self, always: bool = False) -> None:
        """503 if this controller's state may be stale; always: also for routes marked local."""
        view = self._view()
        if (always or not (view is None or is_local(view))) and (why := self._access.stale()):
            raise ProblemError(503, why, headers=AGAIN)

    def _check_role(self, caller: Caller) -> None:
        needed = self._needed()
        if needed is None:
            raise ProblemError(403, "this route declares no role, and is closed: a defect of ofapp")
        if caller.role < needed:
            role = f"the role {caller.role}"
            self._deny(caller, f"this is for the role {needed}; {caller.name} has {role}")
        if caller.session is not None and not is_for_sessions(self._view()):
            self._deny(
                caller,
                "this outlives a browser's session: send the token again, as Authorization: Bearer,"
                " or use the API's UNIX socket (ofapp token, on the controller's machine)",
            )

    def _deny(self, caller: Caller, why: str) -> None:
        self._audit.denied(caller.name, str(caller.role), caller.address, _what())
        raise ProblemError(403, why)

    def _part(self, response: Response) -> Response:
        caller: Caller | None = g.get("caller")
        if caller is not None and request.method in _CHANGING:
            self._audit.end(caller.name, str(caller.role), caller.address, _what())
        return response


def caller() -> Caller:
    """The caller of the present request."""
    return cast(Caller, g.caller)


def connection() -> Connection | None:
    """The connection of the present request; None without a server."""
    return cast("Connection | None", request.environ.get(CONNECTION))


def party() -> Party:
    """The caller that the present request counts for; an unknown one counts by its address."""
    user, its = caller(), connection()
    peer = user.address if its is None else its.peer
    return Party(user.name if user.known else peer, peer)


def cookie_name() -> str:
    """Name of the session cookie: it depends on the scheme, host and port of the request.

    A browser sends a cookie to all ports of a host, so its name contains the port; over TLS it
    begins with `__Host-`, so that no other host of the domain can set it.
    """
    port = request.host.rpartition(":")[2]
    port = port if port.isdecimal() else ("443" if request.is_secure else "80")
    return f"{'__Host-' if request.is_secure else ''}ofapp_session_{port}"


def _credentials() -> Credentials:
    client = connection()
    address = request.remote_addr or "nowhere"
    header = request.headers.get("Authorization")
    scheme, _, secret = ("", "", "") if header is None else header.partition(" ")
    return Credentials(
        peer=address if client is None else client.peer,
        address=address if client is None or client.user is None else SOCKET,
        user=None if client is None else client.user,
        bearer=None if header is None else secret.strip() if scheme.lower() == "bearer" else "",
        session=request.cookies.get(cookie_name()),
    )


def _rejection(error: RejectedError) -> ProblemError:
    if error.wait is not None:
        return ProblemError(429, str(error), headers={"Retry-After": f"{error.wait:.0f}"})
    return ProblemError(401, str(error), headers=CHALLENGE)


def _check_host(host: str) -> None:
    """Keep foreign web pages from reading an open API through the browser (DNS rebinding).

    A foreign page whose DNS name resolves to 127.0.0.1 has the same origin as this API.  So on
    loopback only addresses and localhost are accepted as Host.  If the API needs a token, such a
    page has neither token nor cookie.
    """
    if not _is_literal(host):
        raise ProblemError(421, f"ofapp is not called {host} here: use 127.0.0.1 or localhost")


def _is_own_page() -> bool:
    """Whether the Origin is this API; False without one.  ProblemError for another Origin."""
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    if origin != f"{request.scheme}://{request.host}":
        raise ProblemError(403, f"a page of {origin} may not change anything here")
    return True


def _is_literal(host: str) -> bool:
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _what() -> str:
    query = request.query_string.decode("ascii", "replace")
    whole = f"{request.method} {shown(request.path)}" + (f"?{query}" if query else "")
    return whole[:_LONGEST]
