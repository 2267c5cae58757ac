"""/v1/recording: inputs and effects of all bridges, for `ofapp replay`."""

from __future__ import annotations

from flask import Response

from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import ProblemError, documented, resource
from ofapp.api.roles import admin, local
from ofapp.controller.network import Network

TAG = Tag(name="recording", description="Recorded inputs of the bridges.")

_FILE = {"content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}}


def blueprint(network: Network) -> APIBlueprint:
    """The route."""
    api = resource("recording", TAG, "/v1/recording")

    @api.get("", responses={200: _FILE, **documented(404)})
    @admin
    @local
    def recording() -> Response:
        """The recording of all bridges since the controller has started, compressed by gzip.

        Of a long run it has the beginning, and the last minutes after a gap.  It has frames of
        hosts: BPDUs, LACP, IGMP, MLD, and what first-hop security inspects.
        404: the controller runs without `--record`.
        """
        recorder = network.lifetime.recorder
        if recorder is None:
            detail = "there is no recording: start ofapp-manager with --record"
            raise ProblemError(404, detail)
        return Response(recorder.packed(), content_type="application/gzip")

    return api
