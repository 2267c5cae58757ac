"""The API as a WSGI application: routes, errors, the document, and who may speak to it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from flask import Response, request
from flask_openapi3.models.info import Info
from flask_openapi3.openapi import OpenAPI
from werkzeug.exceptions import BadRequest

import ofapp
from ofapp.api import (
    acls,
    bridges,
    config,
    events,
    fdb,
    health,
    mdb,
    metrics,
    multicast,
    ports,
    problems,
    ryu,
    stp,
)
from ofapp.api.answers import plain
from ofapp.api.door import MAX_BODY
from ofapp.api.events import Streams
from ofapp.api.problems import ProblemError, field_problem
from ofapp.controller.network import Network

_CHANGING = ("PUT", "POST", "PATCH", "DELETE")


def create_app(
    network: Network,
    local_only: bool = True,
    streams: Streams | None = None,
    ended: Mapping[str, int] | None = None,
) -> OpenAPI:
    """The application.

    local_only: it is served on loopback, so nobody knows it by a DNS name.
    streams: through which a server ends the streams.
    ended: connections that the server has ended, by why.
    """
    app = OpenAPI(
        "ofapp.api",
        info=Info(
            title="ofapp",
            version=ofapp.__version__,
            description="Learning bridges on Open vSwitch: what they know, and how to change it.",
        ),
        responses=problems.COMMON,
        validation_error_model=problems.Problem,
        validation_error_callback=problems.invalid,
        security_schemes={},
        doc_ui=False,
        static_folder=None,
    )
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.url_map.merge_slashes = False  # redirects would be neither JSON nor in the document
    problems.install(app)

    @app.before_request
    def check() -> None:
        _check_sender(local_only)
        if request.url_rule is not None:
            _check_form()

    for routes in (
        health,
        bridges,
        ports,
        fdb,
        stp,
        mdb,
        multicast,
        acls,
        ryu,
        config,
    ):
        app.register_api(routes.blueprint(network))
    app.register_api(metrics.blueprint(network, {} if ended is None else ended))
    app.register_api(events.blueprint(network.events, streams or Streams()))

    @app.get("/openapi.json", doc_ui=False)
    def openapi() -> Response:
        return plain(app.api_doc)

    return app


def _check_sender(local_only: bool) -> None:
    """Web pages of others must not drive this API through their reader's browser.

    A name that its owner points to 127.0.0.1 makes his page and this API one origin to a browser
    (DNS rebinding): on loopback, therefore, only addresses and localhost are accepted as Host.
    """
    host = request.host
    if local_only and not _is_literal(host):
        raise ProblemError(421, f"ofapp is not called {host} here: use 127.0.0.1 or localhost")
    origin = request.headers.get("Origin")
    if (
        request.method in _CHANGING
        and origin is not None
        and origin != f"{request.scheme}://{host}"
    ):
        raise ProblemError(403, f"a page of {origin} may not change anything here")


def _is_literal(host: str) -> bool:
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_form() -> None:
    """What no model sees: parameters given twice, and bodies that are not JSON."""
    for name, values in request.args.lists():
        if len(values) > 1:
            raise field_problem(422, name, "is given more than once")
    if request.method in ("PUT", "PATCH") and request.blueprint != mdb.NAME:
        # The scripts written for Ryu's sample use `curl -d`, which calls JSON a form.
        _read_json(force=request.blueprint == ryu.NAME)


def _read_json(force: bool) -> Any:
    try:
        body = request.get_json(force=force)
    except BadRequest:
        raise ProblemError(400, "the body is not JSON") from None
    except RecursionError:
        raise ProblemError(400, "the body is nested too deeply") from None
    if not isinstance(body, dict):
        raise field_problem(422, "body", "the body must be a JSON object")
    return body
