"""/v1/tokens and /v1/session: who may use the API, and who it is that does."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Literal, cast

from flask import Response, request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, BeforeValidator, Field

from ofapp.api.answers import answer, utc
from ofapp.api.base import Input, NoQuery, json_number
from ofapp.api.gate import COOKIE, caller
from ofapp.api.problems import COMMON, UNSAVED, ProblemError, documented, field_problem, refused
from ofapp.api.roles import admin, viewer
from ofapp.controller.access import Access, Caller, Role, Token
from ofapp.controller.access.roles import GIVEN
from ofapp.controller.access.sessions import LONGEST
from ofapp.controller.access.tokens import NAME
from ofapp.controller.audit import record
from ofapp.controller.state import NotSavedError

TAG = Tag(name="access", description="Who may do what.")

TokenName = Annotated[
    str,
    Field(pattern=f"^{NAME}$", description="its name", json_schema_extra={"example": "grafana"}),
]
RoleName = Literal["viewer", "operator", "admin"]
MAX_LIFETIME = 10 * 365 * 86400
Lifetime = Annotated[int, Field(ge=1, le=MAX_LIFETIME), BeforeValidator(json_number)]


class TokenPath(Input):
    """Which token."""

    name: TokenName


class NewToken(Input):
    """A token to be made."""

    name: TokenName
    role: RoleName
    expires_in: Lifetime | None = Field(
        None, description="seconds until its time is over, null = never"
    )


class TokenItem(BaseModel):
    """A token, but for the secret."""

    name: TokenName
    role: RoleName
    created: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    creator: str = Field(description="who has made it")
    expires: str | None = Field(description="UTC, null = never")
    used: str | None = Field(description="UTC, when it was used last; null = never")
    used_from: str | None = Field(description="from where")


class TokenList(BaseModel):
    """All tokens, by name."""

    tokens: list[TokenItem]


class MadeToken(BaseModel):
    """A new token; nobody can be told the secret again."""

    name: TokenName
    role: RoleName
    expires: str | None = Field(description="UTC, null = never")
    token: str = Field(description="the secret")
    closes: bool = Field(
        description="the API was open until now, and asks everybody who they are from now on"
    )


class SessionStatus(BaseModel):
    """Who asks."""

    name: str
    role: RoleName
    known: bool = Field(description="false = the API is open, and takes anybody")
    session: bool = Field(description="it is known by a browser's session")
    expires: str | None = Field(description="UTC, when it has to log in again; null = never")


def blueprint(access: Access) -> APIBlueprint:
    """The routes."""
    api = APIBlueprint("access", __name__, url_prefix="/v1", abp_tags=[TAG], abp_responses=COMMON)
    tokens = access.tokens

    @api.get("/tokens", responses={200: TokenList})
    @admin
    def listed(query: NoQuery) -> Response:
        """All tokens, without their secrets."""
        _check_known()
        return answer(TokenList(tokens=[*map(_item, tokens)]))

    @api.post("/tokens", responses={201: MadeToken, **documented(400, 409, 413, 415), **UNSAVED})
    @admin
    def create(query: NoQuery, body: NewToken) -> Response:
        """Make a token.  From the first one on, the API asks everybody who they are.

        403 for whoever is not known: root makes the first one, over the API's UNIX socket.
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
        told = answer(made, 201)
        told.headers["Cache-Control"] = "no-store"
        return told

    @api.delete("/tokens/<name>", responses={204: None, **documented(404), **UNSAVED})
    @admin
    def revoke(path: TokenPath, query: NoQuery) -> Response:
        """Revoke a token: it counts no more, and neither do the sessions that began with it."""
        _check_known()
        token = tokens.named(path.name)
        if token is None:
            raise field_problem(404, "name", f"there is no token {path.name}")
        saved = tokens.revoke(path.name)
        record(f"token {path.name}: {token.role} -> none")
        saved.wait()
        return Response(status=204)

    @api.get("/session", responses={200: SessionStatus})
    @viewer
    def who(query: NoQuery) -> Response:
        """Who asks, and what they may do."""
        return answer(_status(access, caller()))

    @api.post("/session", responses={201: SessionStatus, **documented(409)})
    @viewer
    def log_in(query: NoQuery) -> Response:
        """Begin a session with a token, sent as `Authorization: Bearer`, for a browser.

        It is a cookie that no script can read and no other site can send, and ends half an hour
        after its last use, or after twelve hours.  409: not without a token.
        """
        own = caller()
        if own.token is None or own.session is not None:
            raise ProblemError(409, "a session begins with a token")
        if request.cookies.get(COOKIE):  # another one of this browser
            access.sessions.close(request.cookies[COOKIE])
        key = access.log_in(own)
        own = replace(own, session=key)
        record("a browser's session begins")
        told = answer(_status(access, own), 201)
        told.set_cookie(
            COOKIE,
            key,
            max_age=int(LONGEST),
            secure=request.is_secure,
            httponly=True,
            samesite="Strict",
        )
        told.headers["Cache-Control"] = "no-store"
        return told

    @api.delete("/session", responses={204: None})
    @viewer
    def log_out(query: NoQuery) -> Response:
        """End the session."""
        own = caller()
        if own.session is not None:
            access.sessions.close(own.session)
            record("a browser's session ends")
        told = Response(status=204)
        told.delete_cookie(COOKIE, secure=request.is_secure, httponly=True, samesite="Strict")
        return told

    return api


def _check_known() -> None:
    """Who is let in only because the API is open must not make themselves a key for later."""
    if not caller().known:
        raise ProblemError(
            403,
            "tokens are for root and the controller's own user, over the API's UNIX socket (ofapp"
            " token, on the controller's machine), and for admins with a token",
        )


def _name(role: Role) -> RoleName:
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


def _status(access: Access, own: Caller) -> SessionStatus:
    expires = access.expires(own)
    return SessionStatus(
        name=own.name,
        role=_name(own.role),
        known=own.known,
        session=own.session is not None,
        expires=None if expires is None else utc(expires),
    )
