"""/v1/config: what runs now in the words of the configuration file, and reading it again."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer
from ofapp.api.base import DatapathId, Input, NoQuery
from ofapp.api.problems import COMMON, ProblemError, documented
from ofapp.api.roles import admin, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.config import ConfigError
from ofapp.config.compare import differences
from ofapp.controller.network import Network
from ofapp.controller.reload import BridgeReload, Reload
from ofapp.controller.running import RunningConfiguration

TAG = Tag(name="config", description="The configuration.")


class ReloadQuery(Input):
    """How to reload."""

    dry_run: bool = Field(False, description="change nothing, tell what would change")
    force: bool = Field(False, description="also when most of what the file said before is gone")
    reset: bool = Field(False, description="take back whatever was set at run time")


class ConfigBridge(BaseModel):
    """What a bridge is told now, under the keys of the configuration file."""

    datapath_id: DatapathId
    name: str
    entries: list[str] = Field(description="the file's entries about it; only the first counts")
    since: list[str] = Field(description="what was set at run time, in words")
    config: dict[str, Any] = Field(description="what differs from ofapp's own defaults")
    filed: dict[str, Any] = Field(
        description="the same by the file alone, as it was read: without what was set since"
    )


class ConfigStatus(BaseModel):
    """What runs now."""

    file: str | None = Field(description="null without a configuration file")
    loaded: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    watch: bool = Field(description="a change of the file is read by itself")
    warnings: list[str] = Field(description="what is valid in the file, but likely to surprise")
    bridges: list[ConfigBridge]


class SentCounts(BaseModel):
    """Messages that changed a switch, by what they changed."""

    flows: int
    groups: int
    meters: int


class BridgeReloaded(BaseModel):
    """A bridge that changed."""

    datapath_id: DatapathId
    name: str
    changes: list[str] = Field(description="in words")
    dropped: list[str] = Field(description="those of them that take back what was set at run time")
    sent: SentCounts | None = Field(description="null while the switch is away")
    lines: list[str] = Field(description="of a dry run: each change of a flow, group or meter")


class Reloaded(BaseModel):
    """What a reload did, or would do."""

    dry_run: bool
    file: str | None
    message: str
    milliseconds: float
    bridges: list[BridgeReloaded] = Field(description="those that changed")
    restart: list[str] = Field(description="changed settings that count from the next start on")
    warnings: list[str]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network's configuration."""
    api = APIBlueprint(
        "config", __name__, url_prefix="/v1/config", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: ConfigStatus})
    @viewer
    def show(query: NoQuery) -> Response:
        """What each bridge is told now, by the file and since."""
        reloader, config = network.reloader, network.running.config
        path, known = reloader.find(), sorted(network.bridges.items())
        return answer(
            ConfigStatus(
                file=None if path is None else str(path),
                loaded=datetime.fromtimestamp(reloader.loaded, UTC).isoformat(),
                watch=config.watch,
                warnings=list(config.warnings()),
                bridges=[_bridge(network.running, bridge) for _, bridge in known],
            )
        )

    @api.post("/reload", responses={200: Reloaded, **documented(409)})
    @admin
    def reload(query: ReloadQuery) -> Response:
        """Read the file again and make what runs equal to it, without losing a frame.

        What was set at run time stays, unless the file has changed the same value, or `reset` is
        given.  409: the file is not valid, or most of what it said before is gone and `force` is
        not given; nothing has changed then, and `errors` has each fault with its line.
        """
        try:
            done = network.changes.reload(query.dry_run, query.force, query.reset)
            return answer(_reload(done))
        except ConfigError as error:
            fields = [(fault.path or "file", str(fault)) for fault in error.faults]
            detail = str(error)
            raise ProblemError(409, detail, fields) from None

    return api


def _bridge(running: RunningConfiguration, bridge: Bridge) -> ConfigBridge:
    datapath_id = bridge.datapath_id
    filed, own = running.filed(datapath_id), running.of(datapath_id)
    return ConfigBridge(
        datapath_id=f"{datapath_id:016x}",
        name=bridge.name,
        entries=running.keys(datapath_id),
        since=[*differences(filed, own, bridge.ports.numbers).values()],
        config=own.shown(),
        filed=filed.shown(),
    )


def _reload(outcome: Reload) -> Reloaded:
    about = asdict(outcome) | {"bridges": [_reloaded(bridge) for bridge in outcome.bridges]}
    return Reloaded(**about, message=outcome.message)


def _reloaded(bridge: BridgeReload) -> BridgeReloaded:
    return BridgeReloaded(**asdict(bridge) | {"datapath_id": f"{bridge.datapath_id:016x}"})
