"""/v1/tokens and /v1/session: tokens of the API, and sessions of browsers."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Literal, cast

from flask import Response, request
from pydantic import BaseModel, BeforeValidator, Field

from ofapp.api.auth import caller, cookie_name
from ofapp.api.base import Input, NoQuery, json_number
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, ProblemError, documented, field_problem, refused, resource
from ofapp.api.responses import answer, utc
from ofapp.api.roles import admin, local, outlives_session, viewer
from ofapp.controller.access import Access, Caller, Token, UserRole
from ofapp.controller.access.roles import GIVEN
from ofapp.controller.access.sessions import LONGEST
from ofapp.controller.access.tokens import NAME
from ofapp.controller.audit import record
from ofapp.controller.network import Network
from ofapp.controller.state import NotSavedError

TAG = Tag(name="access", description="Access control.")

TokenName = Annotated[
    str,
    Field(pattern=f"^{NAME}$", description="its name", json_schema_extra={"example": "grafana"}),
]
RoleName = Literal["viewer", "operator", "admin"]
MAX_LIFETIME = 10 * 365 * 86400
Lifetime = Annotated[int, Field(ge=1, le=MAX_LIFETIME), BeforeValidator(json_number)]


class TokenPath(Input):
    """Path of a token."""

    name: TokenName


class NewToken(Input):
    """A token to create."""

    name: TokenName
    role: RoleName
    expires_in: Lifetime | None = Field(None, description="seconds until it expires, null = never")


class TokenItem(BaseModel):
    """A token without its secret."""

    name: TokenName
    role: RoleName
    created: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    creator: str = Field(description="caller that created it")
    expires: str | None = Field(description="UTC, null = never")
    used: str | None = Field(description="UTC, when it was used last; null = never")
    used_from: str | None = Field(description="address that used it last")


class TokenList(BaseModel):
    """All tokens, by name."""

    tokens: list[TokenItem]


class MadeToken(BaseModel):
    """A new token; the secret cannot be shown again."""

    name: TokenName
    role: RoleName
    expires: str | None = Field(description="UTC, null = never")
    token: str = Field(description="the secret")
    closes: bool = Field(
        description="the API was open until now, and requires authentication from now on"
    )


class Revocation(Input):
    """What else a revocation does."""

    open: bool = Field(
        False,
        description="with the last token: clients on this machine need none any more, as before the"
        " first one, unless authentication is `required`",
    )


class SessionStatus(BaseModel):
    """The caller."""

    name: str
    role: RoleName
    known: bool = Field(description="false = the API is open, and the caller not authenticated")
    session: bool = Field(description="authenticated by a browser's session")
    expires: str | None = Field(description="UTC, when it has to log in again; null = never")


def blueprint(network: Network) -> APIBlueprint:
    """The routes."""
    api = resource("access", TAG, "/v1")
    access, tokens = network.access, network.access.tokens

    @api.get("/tokens", responses={200: TokenList})
    @admin
    def listed(query: NoQuery) -> Response:
        """All tokens, without their secrets."""
        _check_known()
        return answer(TokenList(tokens=[*map(_item, tokens)]))

    @api.post("/tokens", responses={201: MadeToken, **documented(400, 409, 413, 415), **UNSAVED})
    @outlives_session
    @admin
    def create(query: NoQuery, body: NewToken) -> Response:
        """Create a token.  From the first one on, the API requires authentication.

        403 for unauthenticated callers: root creates the first one, over the API's UNIX socket.
        403 for a browser's session, too, as tokens outlive it: the token has to be sent again.
        """
        _check_known()
        role, now, closes = GIVEN[body.role], time.time(), not access.closed
        with refused(409):
            secret, saved = tokens.create(body.name, role, caller().name, now, body.expires_in)
        try:
            saved.wait()
        except NotSavedError:
            tokens.withdraw(body.name)
            raise
        expires = None if body.expires_in is None else utc(now + body.expires_in)
        record(f"token {body.name}: none -> {role}, good until {expires or 'it is revoked'}")
        made = MadeToken(
            name=body.name, role=body.role, expires=expires, token=secret, closes=closes
        )
        response = answer(made, 201)
        response.headers["Cache-Control"] = "no-store"
        return response

    @api.delete("/tokens/<name>", responses={204: None, **documented(404, 409), **UNSAVED})
    @outlives_session
    @admin
    def revoke(path: TokenPath, query: Revocation) -> Response:
        """Revoke a token: it becomes invalid, with the sessions that were started with it.

        409: the API is to be opened, and there are other tokens.
        403 for a browser's session: the token has to be sent again.
        """
        _check_known()
        token = tokens.named(path.name)
        if token is None:
            raise field_problem(404, "name", f"there is no token {path.name}")
        with refused(409):
            saved = tokens.revoke(path.name, query.open)
        opened = ", and the API is open without one" if query.open else ""
        record(f"token {path.name}: {token.role} -> none{opened}")
        saved.wait()
        return Response(status=204)

    @api.get("/session", responses={200: SessionStatus})
    @viewer
    @local
    def who(query: NoQuery) -> Response:
        """The caller and its role."""
        return answer(_status(access, caller()))

    @api.post("/session", responses={201: SessionStatus, **documented(409)})
    @viewer
    def log_in(query: NoQuery) -> Response:
        """Start a browser's session with a token, sent as `Authorization: Bearer`.

        Its cookie cannot be read by scripts or sent by other sites.  It ends half an hour after
        its last use, or after twelve hours.  409: there is no token.
        """
        user = caller()
        if user.token is None or user.session is not None:
            raise ProblemError(409, "a session begins with a token")
        name = cookie_name()
        if request.cookies.get(name):  # another one of this browser
            access.sessions.close(request.cookies[name])
        key = access.log_in(user)
        user = replace(user, session=key)
        record("a browser's session begins")
        response = answer(_status(access, user), 201)
        response.set_cookie(
            name,
            key,
            max_age=int(LONGEST),
            secure=request.is_secure,
            httponly=True,
            samesite="Strict",
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    @api.delete("/session", responses={204: None})
    @viewer
    def log_out(query: NoQuery) -> Response:
        """End the session."""
        user = caller()
        if user.session is not None:
            access.sessions.close(user.session)
            record("a browser's session ends")
        response = Response(status=204)
        response.delete_cookie(
            cookie_name(), secure=request.is_secure, httponly=True, samesite="Strict"
        )
        return response

    return api


def _check_known() -> None:
    """Refuse callers of an open API: they must not create tokens for later."""
    if not caller().known:
        raise ProblemError(
            403,
            "tokens are for root and the controller's own user, over the API's UNIX socket (ofapp"
            " token, on the controller's machine), and for admins with a token",
        )


def _name(role: UserRole) -> RoleName:
    return cast(RoleName, str(role))


def _item(token: Token) -> TokenItem:
    return TokenItem(
        name=token.name,
        role=_name(token.role),
        created=utc(token.created),
        creator=token.creator,
        expires=None if token.expires is None else utc(token.expires),
        used=None if token.used is None else utc(token.used),
        used_from=token.used_from,
    )


def _status(access: Access, user: Caller) -> SessionStatus:
    expires = access.expires(user)
    return SessionStatus(
        name=user.name,
        role=_name(user.role),
        known=user.known,
        session=user.session is not None,
        expires=None if expires is None else utc(expires),
    )
