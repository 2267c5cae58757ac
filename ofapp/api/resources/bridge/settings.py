"""/v1/bridges/{dpid}/settings: all settings of a bridge, in the format of the file."""

from __future__ import annotations

from typing import Any

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import BridgePath, DatapathId, Input, NoQuery
from ofapp.api.lookup import find_bridge
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, ProblemError, documented, resource
from ofapp.api.resources.bridge.planned import Planned, planned_of
from ofapp.api.responses import answer
from ofapp.api.roles import operator, viewer
from ofapp.config.base import FaultsError
from ofapp.controller.network import Network

TAG = Tag(name="settings", description="All settings of a bridge, in the format of the file.")


class SettingsQuery(Input):
    """Options of a change."""

    dry_run: bool = Field(False, description="change nothing, report what would change")


class SettingsChange(Input):
    """New settings; omitted ones keep their values."""

    settings: dict[str, Any] = Field(
        description="a part of the bridge's section of the configuration file: a value replaces the"
        " present one, null resets to the default or removes a port's, VLAN's, aggregation's or"
        " access list's section (RFC 7396); `static`, `mdb` and `bindings` have separate routes"
    )


class BridgeSettings(BaseModel):
    """Settings of a bridge that are in force, those of the file and of run time."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    settings: dict[str, Any] = Field(
        description="what differs from ofapp's own defaults, under the keys of the file"
    )


class SettingsChanged(BaseModel):
    """Result of a change or its dry run."""

    dry_run: bool
    changes: list[str] = Field(description="in words; empty if all values are as given already")
    before: dict[str, Any] = Field(description="former settings, as GET shows them")
    after: dict[str, Any] = Field(description="new settings, likewise")
    planned: Planned | None = Field(description="of a dry run: the effect in the bridge's switch")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("settings", TAG, "/v1/bridges/<dpid>/settings")

    @api.get("", responses={200: BridgeSettings, **documented(404, 409)})
    @viewer
    def show(path: BridgePath, query: NoQuery) -> Response:
        """The settings of a bridge that are in force."""
        bridge = find_bridge(network, path.dpid)
        return answer(
            BridgeSettings(
                datapath_id=f"{bridge.datapath_id:016x}",
                bridge=bridge.name,
                settings=network.running.of(bridge.datapath_id).shown(),
            )
        )

    @api.patch("", responses={200: SettingsChanged, **CHANGE})
    @operator
    def change(path: BridgePath, query: SettingsQuery, body: SettingsChange) -> Response:
        """Change any settings of a bridge in one go: all of them apply, or none.

        They apply until the configuration file changes the same value, or a reload with `reset`
        discards them; 503, 507: they apply, but are not saved.  409: a value is not allowed, or
        contradicts others; `errors` has each with its path.
        """
        changes, bridge = network.changes.settings, find_bridge(network, path.dpid)
        try:
            plan = changes.plan(bridge, body.settings)
        except FaultsError as error:
            fields = [(".".join(map(str, at)) or "settings", what) for at, what in error.faults]
            raise ProblemError(409, str(error), fields) from None
        planned = planned_of(changes.preview(plan)) if query.dry_run else None
        if not query.dry_run:
            changes.carry_out(plan).wait()
        return answer(
            SettingsChanged(
                dry_run=query.dry_run,
                changes=list(plan.changes),
                before=plan.old.shown(),
                after=plan.new.shown(),
                planned=planned,
            )
        )

    return api
