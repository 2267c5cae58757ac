"""Who asks is found out before anything else is, and what they may do; then what they changed.

A route is closed unless it declares the role that it needs (`api.roles`).  Whoever is not known
learns nothing, not even which routes there are.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import cast

from flask import Flask, Response, g, request

from ofapp.api.door import GUEST, Guest
from ofapp.api.problems import ProblemError
from ofapp.api.roles import role_of
from ofapp.controller.access import Access, Caller, Knock, RejectedError, Role
from ofapp.controller.audit import Audit

COOKIE = "ofapp_session"
SOCKET = "the socket"
_CHANGING = ("PUT", "POST", "PATCH", "DELETE")
_LONGEST = 500


class Gate:
    """Of one application.  local: it is served on loopback, so nobody knows it by a DNS name.

    member: for whom a member of the cluster asks; RejectedError.  Where there is no cluster there
    is no listener for members either.
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
        own = guest()
        if own is not None and own.inside:
            self._admit_member()
        else:
            self._admit_client()

    def _admit_member(self) -> None:
        """Nothing counts here but what a member has signed: neither tokens nor an open API."""
        try:
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
        knock = _knock()
        if self._local and knock.user is None and not self._access.closed:
            _check_host(request.host)
        changing = request.method in _CHANGING
        own = _is_own_page() if changing else None
        try:
            caller = self._access.identify(knock)
        except RejectedError as error:
            if knock.bearer is not None or self._needed() is not Role.ANYBODY:
                raise _rejection(error) from None
            caller = Caller("anybody", Role.ANYBODY, knock.address, known=False)
        if changing and caller.session is not None and not own:
            raise ProblemError(403, "a browser's session changes only what its own page asks for")
        self._check_role(caller)
        g.caller = caller
        if changing:
            self._audit.begin()

    def _needed(self) -> Role | None:
        """None where the route does not say; who may not read is not told that there is none."""
        endpoint = request.endpoint
        return Role.VIEWER if endpoint is None else role_of(self._views[endpoint])

    def _check_role(self, caller: Caller) -> None:
        needed = self._needed()
        if needed is None:
            raise ProblemError(403, "this route declares no role, and is closed: a defect of ofapp")
        if caller.role < needed:
            self._audit.denied(caller.name, str(caller.role), caller.address, _what())
            role = f"the role {caller.role}"
            raise ProblemError(403, f"this is for the role {needed}; {caller.name} has {role}")

    def _part(self, response: Response) -> Response:
        caller: Caller | None = g.get("caller")
        if caller is not None and request.method in _CHANGING:
            self._audit.end(caller.name, str(caller.role), caller.address, _what())
        return response


def caller() -> Caller:
    """Who has asked what is being answered."""
    return cast(Caller, g.caller)


def guest() -> Guest | None:
    """Their connection; None where there is no server."""
    return cast("Guest | None", request.environ.get(GUEST))


def _knock() -> Knock:
    own = guest()
    address = request.remote_addr or "nowhere"
    header = request.headers.get("Authorization")
    scheme, _, secret = ("", "", "") if header is None else header.partition(" ")
    return Knock(
        peer=address if own is None else own.peer,
        address=address if own is None or own.user is None else SOCKET,
        user=None if own is None else own.user,
        bearer=None if header is None else secret.strip() if scheme.lower() == "bearer" else "",
        session=request.cookies.get(COOKIE),
    )


def _rejection(error: RejectedError) -> ProblemError:
    if error.wait is not None:
        return ProblemError(429, str(error), headers={"Retry-After": f"{error.wait:.0f}"})
    return ProblemError(401, str(error), headers={"WWW-Authenticate": 'Bearer realm="ofapp"'})


def _check_host(host: str) -> None:
    """Web pages of others must not read an API that is open through their reader's browser.

    A name that its owner points to 127.0.0.1 makes his page and this API one origin to a browser
    (DNS rebinding): on loopback, therefore, only addresses and localhost are accepted as Host.
    Where the API is closed such a page has neither token nor cookie.
    """
    if not _is_literal(host):
        raise ProblemError(421, f"ofapp is not called {host} here: use 127.0.0.1 or localhost")


def _is_own_page() -> bool:
    """Whether a page of this API asks; False when none says so.  ProblemError for others'."""
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
    whole = f"{request.method} {request.path}" + (f"?{query}" if query else "")
    return whole[:_LONGEST]
