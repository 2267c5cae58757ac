"""/v1/config: what runs now in the words of the configuration file, and reading it again."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models, models_config
from ofapp.api.answers import answer
from ofapp.api.problems import COMMON, ProblemError, documented
from ofapp.bridge.bridge import Bridge
from ofapp.config import ConfigError
from ofapp.config.compare import differences
from ofapp.controller.network import Network
from ofapp.controller.reload import BridgeReload, Reload
from ofapp.controller.running import RunningConfiguration

TAG = Tag(name="config", description="The configuration.")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network's configuration."""
    api = APIBlueprint(
        "config", __name__, url_prefix="/v1/config", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: models_config.ConfigStatus})
    def show(query: models.NoQuery) -> Response:
        """What each bridge is told now, by the file and since."""
        reloader, config = network.reloader, network.running.config
        path, known = reloader.find(), sorted(network.bridges.items())
        return answer(
            {
                "file": None if path is None else str(path),
                "loaded": datetime.fromtimestamp(reloader.loaded, UTC).isoformat(),
                "watch": config.watch,
                "warnings": list(config.warnings()),
                "bridges": [_bridge_json(network.running, bridge) for _, bridge in known],
            }
        )

    @api.post("/reload", responses={200: models_config.Reloaded, **documented(409)})
    def reload(query: models_config.ReloadQuery) -> Response:
        """Read the file again and make what runs equal to it, without losing a frame.

        What was set at run time stays, unless the file has changed the same value, or `reset` is
        given.  409: the file is not valid, or most of what it said before is gone and `force` is
        not given; nothing has changed then, and `errors` has each fault with its line.
        """
        try:
            done = network.changes.reload(query.dry_run, query.force, query.reset)
            return answer(_reload_json(done))
        except ConfigError as error:
            fields = [(fault.path or "file", str(fault)) for fault in error.faults]
            detail = str(error)
            raise ProblemError(409, detail, fields) from None

    return api


def _bridge_json(running: RunningConfiguration, bridge: Bridge) -> dict[str, Any]:
    """Shape: `models_config.ConfigBridge`."""
    datapath_id = bridge.datapath_id
    filed, own = running.filed(datapath_id), running.of(datapath_id)
    return {
        "datapath_id": f"{datapath_id:016x}",
        "name": bridge.name,
        "entries": running.keys(datapath_id),
        "since": [*differences(filed, own, bridge.ports.numbers).values()],
        "config": own.shown(),
    }


def _reload_json(outcome: Reload) -> dict[str, Any]:
    """Shape: `models_config.Reloaded`."""
    return {
        **asdict(outcome),
        "message": outcome.message,
        "bridges": [_reloaded_json(bridge) for bridge in outcome.bridges],
    }


def _reloaded_json(bridge: BridgeReload) -> dict[str, Any]:
    return {**asdict(bridge), "datapath_id": f"{bridge.datapath_id:016x}"}
