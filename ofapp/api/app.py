"""The API as a WSGI application: routes, errors, the document, and who may speak to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import Response, request
from flask_openapi3.models.info import Info
from flask_openapi3.openapi import OpenAPI
from werkzeug.exceptions import BadRequest

import ofapp
from ofapp.api import (
    acls,
    bridges,
    cluster,
    config,
    docs,
    events,
    fdb,
    health,
    lags,
    lldp,
    mdb,
    metrics,
    multicast,
    page,
    ports,
    problems,
    ryu,
    search,
    stp,
    tokens,
    topology,
    transfer,
    vendors,
)
from ofapp.api.answers import plain
from ofapp.api.door import MAX_BODY
from ofapp.api.events import Streams
from ofapp.api.gate import Gate
from ofapp.api.problems import ProblemError, field_problem
from ofapp.api.roles import viewer
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.surface import Surface


def create_app(
    network: Network,
    local_only: bool = True,
    streams: Streams | None = None,
    ended: Mapping[str, int] | None = None,
    surface: Surface | None = None,
) -> OpenAPI:
    """The application.

    local_only: it is served on loopback, so nobody knows it by a DNS name.
    streams: through which a server ends the streams.
    ended: connections that the server has ended, by why.
    surface: of the cluster that this controller is a member of, if it is one.
    """
    app = OpenAPI(
        "ofapp.api",
        info=Info(
            title="ofapp",
            version=ofapp.__version__,
            description="Learning bridges on Open vSwitch: what they know, and how to change it."
            " What is no page of a database has an ETag: `If-None-Match` is answered with 304 when"
            " nothing has changed. Long answers are compressed for whoever accepts gzip.",
        ),
        responses=problems.COMMON,
        validation_error_model=problems.Problem,
        validation_error_callback=problems.invalid,
        security_schemes={"token": {"type": "http", "scheme": "bearer"}},
        doc_ui=False,
        static_folder=None,
    )
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.url_map.merge_slashes = False  # redirects would be neither JSON nor in the document
    problems.install(app)

    transfer.install(app)
    gate = Gate(app, network.access, network.audit, local_only)

    @app.before_request
    def check() -> None:
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
        lags,
        lldp,
        topology,
        ryu,
        config,
    ):
        app.register_api(routes.blueprint(network))
    app.register_api(metrics.blueprint(network, {} if ended is None else ended, surface))
    app.register_api(events.blueprint(network, streams or Streams()))
    app.register_api(tokens.blueprint(network.access))
    known = vendors.Vendors()
    app.register_api(search.blueprint(network, known))
    app.register_api(vendors.blueprint(known))
    app.register_api(cluster.blueprint(network, surface))

    @app.get("/openapi.json", doc_ui=False)
    @viewer
    def openapi() -> Response:
        return plain(app.api_doc)

    docs.install(app)
    page.install(app)
    if surface is not None:
        from ofapp.api import elsewhere, everywhere

        gate.member = partial(elsewhere.admit, surface)
        names = elsewhere.Elsewhere(app, network, surface)
        everywhere.Everywhere(app, network, surface, names.datapath_id)
    return app


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
