"""The API as a WSGI application: routes, errors, the OpenAPI document, and access control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Response, request

import ofapp
from ofapp.api import page, problems
from ofapp.api.auth import Authorizer
from ofapp.api.http import bodies, transfer
from ofapp.api.http.path import CONVERTERS
from ofapp.api.http.request_reader import MAX_BODY
from ofapp.api.http.streams import Streams
from ofapp.api.http.transfer import Settings
from ofapp.api.metrics import metrics
from ofapp.api.metrics.declaration import Source
from ofapp.api.openapi import APIBlueprint, Info, OpenAPI
from ofapp.api.problems import described, documented, field_problem
from ofapp.api.resources import (
    cluster,
    config,
    events,
    fabrics,
    health,
    history,
    recording,
    ryu,
    tokens,
    topology,
    versions,
)
from ofapp.api.resources import problems as network_problems
from ofapp.api.resources.bridge import (
    acls,
    bindings,
    bridges,
    diagnosis,
    fdb,
    first_hop,
    lags,
    lldp,
    mdb,
    multicast,
    port_access,
    ports,
    settings,
    stp,
)
from ofapp.api.resources.documentation import docs, guide
from ofapp.api.resources.documentation import lab as laboratory
from ofapp.api.resources.edge import loop_protect
from ofapp.api.resources.hosts import hosts, search, vendors
from ofapp.api.resources.twin import what_if
from ofapp.api.responses import plain
from ofapp.api.roles import local, viewer
from ofapp.common import hub
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface


SITE = Path("/var/lib/ofapp/site")
"""Folder of the documentation's site with the default options."""

_CHANGING = ("put", "post", "patch", "delete")
_NULL = {"type": "null"}

RESOURCES = (
    health,
    bridges,
    settings,
    ports,
    fdb,
    stp,
    mdb,
    multicast,
    acls,
    lags,
    lldp,
    loop_protect,
    first_hop,
    bindings,
    port_access,
    fabrics,
    topology,
    ryu,
    config,
    versions,
    tokens,
    search,
    vendors,
    diagnosis,
    recording,
    network_problems,
    history,
    hosts,
)
"""Modules with a resource: `blueprint(network)` gives its routes."""


def create_app(
    network: Network,
    local_only: bool = True,
    streams: Streams | None = None,
    ended: Mapping[str, int] | None = None,
    surface: Surface | None = None,
    site: Path = SITE,
) -> OpenAPI:
    """The application.

    local_only: it is served on loopback, so it has no DNS name.
    streams: lets a server end the event streams.
    ended: number of connections that the server has ended, by reason.
    surface: interface to the cluster that this controller is a member of, if any.
    site: folder of the documentation's site, where the laboratory is built.
    """
    app = _openapi()
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.url_map.converters.update(CONVERTERS)
    app.url_map.strict_slashes = False  # a slash at the end changes nothing
    app.url_map.merge_slashes = False  # redirects would be neither JSON nor in the document
    problems.install(app)

    tags = Settings(network)
    transfer.install(app, tags)
    authorizer = Authorizer(app, network.access, network.audit, local_only)

    app.before_request(_check_parameters)
    bodies.install(app)

    source = Source(network, streams or Streams(), {} if ended is None else ended, surface)
    for blueprint in _blueprints(source):
        app.register_api(blueprint)

    whole = cache(partial(_document, network))

    @app.get("/openapi.json", doc_ui=False)
    @viewer
    @local
    def openapi() -> Response:
        return plain(whole())

    docs.install(app)
    guide.install(app)
    laboratory.install(app, site)
    page.install(app)
    if surface is not None:
        from ofapp.api.cluster.fan_out import FanOut
        from ofapp.api.cluster.proxy import Proxy, admit

        authorizer.member = partial(admit, surface)
        network.access.stale = surface.stale
        FanOut(app, network, surface, Proxy(app, network, surface).datapath_id)
    tags.install(app)
    return app


def _check_parameters() -> None:
    """Refuse parameters that are given twice, which no model notices."""
    if request.url_rule is None:
        return
    for name, values in request.args.lists():
        if len(values) > 1:
            raise field_problem(422, name, "is given more than once")


def _openapi() -> OpenAPI:
    """An application without routes."""
    return OpenAPI(
        "ofapp.api",
        info=Info(
            title="ofapp",
            version=ofapp.__version__,
            description="State and settings of learning bridges on Open vSwitch."
            " Answers have an ETag, except pages of a database: `If-None-Match` is answered with"
            " 304 when nothing has changed, and a change with `If-Match` is made only while the"
            " settings are those that had this ETag (412 otherwise; counters and states do not"
            " matter). Long answers are compressed for clients that accept gzip.",
        ),
        responses=problems.COMMON,
        validation_error_model=problems.Problem,
        validation_error_callback=problems.invalid,
        security_schemes={"token": {"type": "http", "scheme": "bearer"}},
        doc_ui=False,
        static_folder=None,
    )


def _blueprints(source: Source) -> Iterator[APIBlueprint]:
    for resource in RESOURCES:
        yield resource.blueprint(source.network)
    yield metrics.blueprint(source)
    yield events.blueprint(source.network, source.streams)
    yield cluster.blueprint(source.network, source.surface)
    yield what_if.blueprint(source.network, source.questions, source.surface)


def api_document(network: Network) -> dict[str, Any]:
    """Describe all routes for OpenAPI; `network` is not read.

    This takes 0.6 s, so a controller does it when it is asked for /openapi.json, and lets other
    work go on in between.
    """
    app = _openapi()
    with described():
        for blueprint in _blueprints(Source(network, Streams(), {})):
            app.register_api(blueprint)
            hub.sleep(0)
    made: dict[str, Any] = app.api_doc
    return made


def _document(network: Network) -> dict[str, Any]:
    """/openapi.json: the document that flask-openapi3 makes, with corrections."""
    made = api_document(network)
    for operations in made["paths"].values():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _not_null(parameter["schema"])
            if method in _CHANGING:
                answers = documented(412)
                operation["responses"] |= {str(status): what for status, what in answers.items()}
    return made


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from a schema: no query, path or header can hold it."""
    if _NULL not in schema.get("anyOf", ()):
        return schema
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    kinds = [kind for kind in schema["anyOf"] if kind != _NULL]
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}
