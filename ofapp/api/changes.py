"""Changes of settings, and bodies of PATCH: omitted fields keep their values.

The routes of a protocol's section of the file, its status and PATCH for a bridge and for a port,
follow from its declaration (`section_routes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, ParamSpec, get_type_hints

from flask import Response
from pydantic import BaseModel, BeforeValidator, Field, Strict, StrictBool, StrictInt, create_model

from ofapp.api.base import BridgePath, Input, NoQuery, PortPath, json_number
from ofapp.api.lookup import bridge_and_port, find_bridge
from ofapp.api.openapi import APIBlueprint
from ofapp.api.problems import CHANGE, documented, refused
from ofapp.api.responses import answer
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.config.port import PortSection
from ofapp.controller.configuration.changes.settings import Section
from ofapp.controller.network import Network
from ofapp.controller.state.saving import Ticket

P = ParamSpec("P")

_WHOLE = Annotated[int, BeforeValidator(json_number)]
_FRACTION = Annotated[float, BeforeValidator(json_number)]
_JSON_TYPES: dict[Any, Any] = {
    bool: StrictBool,
    int: _WHOLE,
    float: _FRACTION,
    StrictInt | None: _WHOLE | None,
}
"""Strict types: pydantic alone would also accept "yes" for true and true for 1."""


class Change:
    """Base of all bodies of PATCH."""

    def values(self) -> dict[str, Any]:
        """The fields that are given."""
        return {name: getattr(self, name) for name in self.model_fields_set}  # type: ignore


def make_change(change: Callable[P, Ticket], *arguments: P.args, **options: P.kwargs) -> None:
    """Make a change and wait until it is saved; 409 if it is refused, 503 or 507 if not saved."""
    with refused(409):
        saved = change(*arguments, **options)
    saved.wait()


def nested(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields of a configuration model that are sections."""
    types = {name: field.annotation for name, field in model.model_fields.items()}
    return tuple(
        name
        for name, type_ in types.items()
        if isinstance(type_, type) and issubclass(type_, BaseModel)
    )


def changes_of(model: type[BaseModel], leave_out: tuple[str, ...] = ()) -> Any:
    """Make a model with a configuration model's fields and checks, with strict JSON types."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in leave_out:
            continue
        type_ = _JSON_TYPES.get(field.annotation, field.annotation)
        for item in field.metadata:
            if not isinstance(item, Strict):
                type_ = Annotated[type_, item]
        extra = dict(field.json_schema_extra or {})  # type: ignore[arg-type]
        fields[name] = type_, Field(None, description=field.description, json_schema_extra=extra)
    return create_model(f"{model.__name__}Fields", __base__=Input, **fields)


# Routes of a protocol's section

_APPLIES = """

It applies until the configuration file changes the same value, or a reload with `reset`
discards it; 503, 507: it applies, but is not saved."""


class Texts(NamedTuple):
    """Descriptions of the routes.

    status: description of GET.  change, change_port: first sentences of PATCH for a bridge and
    for a port.
    refused: when a change of a port is refused, beside its values.
    """

    status: str
    change: str
    change_port: str = "Set parameters of a port."
    refused: str = ""


def body_of(owner: type[BaseModel], level: str, section: str) -> type[Change]:
    """Return the body of PATCH for a section of a bridge or a port.  level: which, in words."""
    model = section_model(owner, section)
    about = {"__doc__": f"Parameters of a {level}; omitted ones keep their values."}
    return type(f"{model.__name__}Change", (Change, changes_of(model)), about)


def section_routes(
    api: APIBlueprint,
    network: Network,
    section: Section,
    view: Callable[[Network, Bridge], BaseModel],
    texts: Texts,
    body: type[Change] | None = None,
) -> None:
    """Add the routes of a section; without PATCH for a port, if ports do not have the section.

    view: the status of a bridge, annotated with its model.  body: the model of the bridge's PATCH,
    if its name is not that of the section.
    """
    model = get_type_hints(view)["return"]

    def status(path: BridgePath, query: NoQuery) -> Response:
        return answer(view(network, find_bridge(network, path.dpid)))

    def change(path: BridgePath, query: NoQuery, body: Change) -> Response:
        bridge = find_bridge(network, path.dpid)
        make_change(network.changes.settings.change, bridge, section, body.values())
        return answer(view(network, bridge))

    def change_port(path: PortPath, query: NoQuery, body: Change) -> Response:
        bridge, port = bridge_and_port(network, path)
        make_change(network.changes.settings.change_port, bridge, port, body.values(), section)
        return answer(view(network, bridge))

    status.__doc__ = texts.status
    change.__doc__ = texts.change + _APPLIES
    change_port.__doc__ = texts.change_port + _APPLIES + texts.refused
    of_bridge = body or body_of(BridgeSettings, "bridge", section.name)
    change.__annotations__["body"] = of_bridge
    api.get("", responses={200: model, **documented(404, 409)})(viewer(status))
    api.patch("", responses={200: model, **CHANGE})(operator(change))
    if section.name in PortSection.model_fields:
        change_port.__annotations__["body"] = body_of(PortSection, "port", section.name)
        api.patch("/ports/<port>", responses={200: model, **CHANGE})(operator(change_port))
