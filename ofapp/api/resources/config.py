"""/v1/config: the running configuration in the file's format, reload and push."""

from __future__ import annotations

import base64
import time
import zlib
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.auth import caller
from ofapp.api.base import DatapathId, Input, NoQuery
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, ProblemError, documented, resource
from ofapp.api.resources.bridge.planned import Planned, items_of
from ofapp.api.responses import answer
from ofapp.api.roles import admin, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.common.printable import printable
from ofapp.config import ConfigError
from ofapp.config.compare import differences
from ofapp.config.document import MAX_BYTES
from ofapp.controller.audit import record
from ofapp.controller.configuration.pushed import Pushed as Pushing
from ofapp.controller.configuration.pushed import PushError, UncertainError
from ofapp.controller.configuration.reload import BridgeReload, Reload
from ofapp.controller.configuration.run_time_entries import with_entries
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.network import Network
from ofapp.controller.state.saving import wait_for_all
from ofapp.controller.state.versions import Author

_GZIP = 31
"""zlib's window with gzip's header."""

TAG = Tag(name="config", description="The configuration.")


class ReloadQuery(Input):
    """Options of a reload."""

    dry_run: bool = Field(False, description="change nothing, report what would change")
    force: bool = Field(False, description="also when most of the file's former content is gone")
    reset: bool = Field(False, description="discard all run-time settings")


class PushQuery(Input):
    """Options of a push."""

    dry_run: bool = Field(False, description="change nothing, report what would change here")
    force: bool = Field(
        False,
        description="also when most of the former content is gone, or a member cannot apply it",
    )


class PushBody(Input):
    """A configuration file."""

    file: str = Field(max_length=4096, description="file name to display")
    data: str = Field(description="the file, compressed with gzip, in base64")


class ConfigMember(BaseModel):
    """State of the configuration on a member of the cluster."""

    name: str
    revision: int | None = Field(description="revision that it applies; null = its local file")
    error: str = Field(description="why it does not apply the last one; empty when it does")
    differs: bool = Field(description="its local file differs from the pushed configuration")


class ConfigBridge(BaseModel):
    """The running configuration of a bridge, under the keys of the configuration file."""

    datapath_id: DatapathId
    name: str
    entries: list[str] = Field(description="the file's entries about it; only the first applies")
    since: list[str] = Field(description="run-time settings, in words")
    run_time_entries: list[str] = Field(
        description="static entries, multicast entries and bindings added or removed at run time,"
        " in words; `reset` keeps them"
    )
    config: dict[str, Any] = Field(description="what differs from ofapp's own defaults")
    filed: dict[str, Any] = Field(
        description="the same by the file alone, as it was read: without run-time settings"
    )


class ConfigStatus(BaseModel):
    """The running configuration."""

    file: str | None = Field(description="null without a configuration file")
    revision: int | None = Field(description="pushed to the cluster; null = the local file is used")
    members: list[ConfigMember] = Field(description="of the cluster; empty where there is none")
    loaded: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    watch: bool = Field(description="a change of the file is loaded automatically")
    warnings: list[str] = Field(description="valid settings that may have surprising effects")
    unsaved: str | None = Field(
        description="why run-time settings cannot be saved, and a restart would lose them;"
        " null while all is saved"
    )
    bridges: list[ConfigBridge]


class CutOffHost(BaseModel):
    """A host that would be cut off: it has no binding on a port that becomes guarded."""

    port: str
    vlan: int = Field(description="VID, 0 = untagged")
    mac: str


class BridgeReloaded(Planned):
    """A bridge that changed."""

    datapath_id: DatapathId
    name: str
    changes: list[str] = Field(description="in words")
    dropped: list[str] = Field(description="changes that discard run-time settings")
    cut_off: list[CutOffHost] = Field(
        description="of a dry run: present hosts that source guard would cut off, until they renew"
        " their lease or are given a binding; at most 1000"
    )


class Reloaded(BaseModel):
    """Result of a reload or its dry run."""

    dry_run: bool
    file: str | None
    message: str
    milliseconds: float
    bridges: list[BridgeReloaded] = Field(description="bridges that changed")
    fabrics: list[str] = Field(description="changes of fabrics, in words")
    restart: list[str] = Field(description="changed settings that need a restart")
    warnings: list[str]


class Pushed(BaseModel):
    """Result of a push or its dry run."""

    dry_run: bool
    revision: int | None = Field(description="etcd's; null of a dry run")
    members: list[ConfigMember]
    here: Reloaded = Field(description="changes of the bridges of the member that answers")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network's configuration."""
    api = resource("config", TAG, "/v1/config")

    @api.get("", responses={200: ConfigStatus})
    @viewer
    def show(query: NoQuery) -> Response:
        """The running configuration of each bridge, by the file and by run-time settings."""
        reloader, config = network.reloader, network.running.config
        known = sorted(network.bridges.items())
        return answer(
            ConfigStatus(
                file=reloader.place,
                revision=None if reloader.pushed is None else reloader.pushed.revision or None,
                members=_members(network),
                loaded=datetime.fromtimestamp(reloader.loaded, UTC).isoformat(),
                watch=config.watch,
                warnings=list(config.warnings()),
                unsaved=network.unsaved,
                bridges=[_bridge(network.running, bridge) for _, bridge in known],
            )
        )

    @api.post("/reload", responses={200: Reloaded, **documented(409), **UNSAVED})
    @admin
    def reload(query: ReloadQuery) -> Response:
        """Read the file again and apply the differences, without losing a frame.

        Run-time settings stay, unless the file has changed the same value, or `reset` is given.
        409: the file is not valid, or most of its former content is gone and `force` is not given;
        nothing has changed then, and `errors` has each fault with its line.  503, 507: it is
        applied, but not saved: a crash would bring discarded run-time settings back.
        """
        try:
            done = network.versions.reload(
                author("reload"), query.dry_run, query.force, query.reset
            )
        except ConfigError as error:
            raise invalid(error) from None
        wait_for_all(done.saved)
        if not query.dry_run:
            network.problems.review()  # it may have ended some
        return answer(reloaded(done))

    @api.post("/plan", responses={200: Reloaded, **documented(409)})
    @admin
    def plan(query: NoQuery, body: PushBody) -> Response:
        """What this file would change here in place of the running one; nothing changes.

        409: it is not valid, and `errors` has each fault with its line.
        """
        try:
            return answer(reloaded(network.reloader.compare(sent(body))))
        except ConfigError as error:
            raise invalid(error) from None

    @api.post("/push", responses={200: Pushed, **documented(409), **UNSAVED})
    @admin
    def push(query: PushQuery, body: PushBody) -> Response:
        """Apply this file on all members of the cluster, instead of their local files.

        It is checked here, and each member makes a dry run; then the revision applies to all
        members, also to those that join later.  409: it is not valid, a member cannot apply it,
        most of the former content is gone, another push is under way, or there is no cluster;
        then nothing has changed on any member.  503: etcd did not confirm the push, or not that
        the version was kept.
        """
        reloader = network.reloader
        if reloader.sharing is None:
            place = reloader.place or "a file"
            detail = (
                "this controller is in no cluster and uses its local file: change"
                f" {place} and reload it (ofapp config reload)"
            )
            raise ProblemError(409, detail)
        pushed = sent(body)
        try:
            planned = reloader.check_pushed(pushed, query.force)
            outcome = reloader.sharing.push(pushed, query.dry_run, query.force)
        except ConfigError as error:
            raise invalid(error) from None
        except (PushError, UncertainError) as error:
            raise not_pushed(error) from None
        if not query.dry_run:
            record(f"configuration: {pushed.file} pushed as revision {outcome.revision}")
            wait_for_all(network.versions.pushed(author("push"), pushed, planned).saved)
        return answer(
            Pushed(
                dry_run=query.dry_run,
                revision=outcome.revision,
                members=_members(network),
                here=reloaded(planned),
            )
        )

    return api


def invalid(error: ConfigError) -> ProblemError:
    """The problem of an invalid file, with each of its faults."""
    fields = [(fault.path or "file", str(fault)) for fault in error.faults]
    return ProblemError(409, str(error), fields)


def not_pushed(error: PushError | UncertainError) -> ProblemError:
    """The problem of a configuration that did not reach the cluster, or perhaps did."""
    if isinstance(error, PushError):
        return ProblemError(409, f"nothing has changed: {error}")
    why = f"it is not known whether this was pushed ({error}): look with ofapp config show"
    return ProblemError(503, why)


def author(how: str) -> Author:
    """The caller as the author of a version."""
    return Author(caller().name, caller().address, how)


def sent(body: PushBody) -> Pushing:
    """The configuration file in a request; 409 if it is no such file."""
    return Pushing(unpacked(body.data), printable(body.file), caller().name, time.time())


def unpacked(data: str) -> bytes:
    """Decompress a file that was sent, up to the maximum size of a file; 409 if it is none."""
    try:
        unpacker = zlib.decompressobj(_GZIP)
        unpacked = unpacker.decompress(base64.b64decode(data, validate=True), MAX_BYTES + 1)
        if not unpacker.eof and len(unpacked) <= MAX_BYTES:
            raise ValueError("it is cut short")
    except (ValueError, zlib.error) as error:
        detail = "data: not a file that is compressed with gzip, in base64"
        raise ProblemError(409, detail, [("data", str(error))]) from None
    return unpacked


def _members(network: Network) -> list[ConfigMember]:
    sharing = network.reloader.sharing
    return [] if sharing is None else [ConfigMember(**m._asdict()) for m in sharing.members()]


def _bridge(running: RunningConfiguration, bridge: Bridge) -> ConfigBridge:
    datapath_id = bridge.datapath_id
    filed, settings = running.filed(datapath_id), running.of(datapath_id)
    shown = with_entries(settings, bridge)
    return ConfigBridge(
        datapath_id=f"{datapath_id:016x}",
        name=bridge.name,
        entries=running.keys(datapath_id),
        since=[*differences(filed, settings, bridge.ports.numbers).values()],
        run_time_entries=[*differences(settings, shown).values()],
        config=shown.shown(),
        filed=filed.shown(),
    )


def reloaded(outcome: Reload) -> Reloaded:
    """The outcome of a reload or a dry run for the API."""
    about = asdict(replace(outcome, saved=())) | {
        "bridges": [_reloaded(bridge) for bridge in outcome.bridges]
    }
    return Reloaded(**about, message=outcome.message)


def _reloaded(bridge: BridgeReload) -> BridgeReloaded:
    hosts = [
        CutOffHost(port=host.port, vlan=host.vid, mac=format_mac(host.mac))
        for host in bridge.cut_off
    ]
    about = {"datapath_id": f"{bridge.datapath_id:016x}", "cut_off": hosts}
    about["items"] = items_of(bridge.items)
    return BridgeReloaded(**asdict(bridge) | about)
