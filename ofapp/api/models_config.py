"""The configuration in the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ofapp.api.models import DatapathId, Input


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
