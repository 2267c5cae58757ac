"""/healthz, /readyz and /v1/version: for load balancers, orchestrators and scripts."""

from __future__ import annotations

import time
from typing import Literal

from flask import Response
from pydantic import BaseModel, Field

import ofapp
from ofapp.api.base import NoQuery
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import AGAIN, ProblemError, documented, resource
from ofapp.api.responses import answer, utc
from ofapp.api.roles import anybody, local, viewer
from ofapp.common.version import commit
from ofapp.controller.network import Network
from ofapp.osken.server import SwitchServer

TAG = Tag(name="health", description="Health of the controller.")


class Health(BaseModel):
    """The controller is alive."""

    status: Literal["ok"] = "ok"


class Ready(Health):
    """The controller accepts switches."""

    bridges: int = Field(description="number of known bridges")
    connected: int = Field(description="known bridges with a connected switch")
    in_line: int = Field(description="of these, with all flows, groups and meters in the switch")


class Version(BaseModel):
    """Version and start time."""

    version: str
    commit: str | None = Field(
        description="abbreviated, with -dirty if files were changed; null if unknown"
    )
    started: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    uptime: float = Field(description="seconds")
    openflow: list[str] = Field(
        description="where it listens for switches, as `ovs-vsctl set-controller` takes it; 0.0.0.0"
        " and [::] stand for each of its addresses"
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("health", TAG)

    @api.get("/healthz", responses={200: Health})
    @anybody
    @local
    def healthz(query: NoQuery) -> Response:
        """Whether the controller is alive: it is when it answers at all."""
        return answer(Health())

    @api.get("/readyz", responses={200: Ready, **documented(503)})
    @anybody
    @local
    def readyz(query: NoQuery) -> Response:
        """Whether switches can connect, and are served.

        503: not yet; or etcd does not answer this member of a cluster.

        Switches that are disconnected, or not in sync, do not make a controller unready: with
        another one they would connect no sooner.  /metrics and /v1/bridges show them.
        """
        if not SwitchServer.listening.is_set():
            why = "the controller does not listen for switches yet"
            raise ProblemError(503, why, headers=AGAIN)
        if why := network.access.stale():
            raise ProblemError(503, why, headers=AGAIN)
        datapaths = network.datapaths.values()
        return answer(
            Ready(
                bridges=len(network.bridges),
                connected=len(network.datapaths),
                in_line=sum(datapath.in_line for datapath in datapaths),
            )
        )

    @api.get("/v1/version", responses={200: Version})
    @viewer
    @local
    def version(query: NoQuery) -> Response:
        """Which version runs, and since when."""
        uptime = round(time.time() - network.started, 3)
        return answer(
            Version(
                version=ofapp.__version__,
                commit=commit(),
                started=utc(network.started),
                uptime=uptime,
                openflow=SwitchServer.targets,
            )
        )

    return api
