"""Ports and their VLANs in the API.  Parameters are those of the configuration file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    WithJsonSchema,
    model_validator,
)

from ofapp.api.changes import Change, fields_of
from ofapp.api.models import BridgePath, Input, Port, PortRef, PortText
from ofapp.config.base import MAX_VID
from ofapp.config.port import Port as PortSettings
from ofapp.config.port import PortVlan, Storm


class PortPath(BridgePath):
    """Which port of which bridge."""

    port: PortText


_PORT_FIELDS = fields_of(PortSettings, leave_out=("stp", "multicast", "vlan", "storm"))
_VID: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MAX_VID}
_TRUNK: dict[str, Any] = {"type": "array", "minItems": 1, "items": _VID}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _whole(value: Any) -> Any:
    """To JSON 10.0 is an integer."""
    if isinstance(value, dict):
        return {key: _whole(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_whole(own) for own in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _given(value: object) -> object:
    """null is no value that any key of these has, and nothing at all says nothing."""
    if value is None:
        raise ValueError("null is no VLAN: transparent, where frames shall pass as they are")
    if isinstance(value, dict):
        if not value:
            raise ValueError("nothing is given: a VID, access, trunk, or transparent")
        if nulls := [key for key, own in value.items() if own is None]:
            raise ValueError(f"{nulls[0]} is null: leave it out")
        if "native_tagged" in value and "native" not in value:
            raise ValueError("native_tagged needs native")
    return value


Vlans = Annotated[
    PortVlan,
    BeforeValidator(_given),
    WithJsonSchema(
        {
            "anyOf": [
                _VID,
                {"type": "string", "enum": ["transparent"]},
                _object(["access"], access=_VID),
                _object(["trunk"], trunk=_TRUNK),
                _object(
                    ["trunk", "native"],
                    trunk=_TRUNK,
                    native=_VID,
                    native_tagged={"type": "boolean"},
                ),
            ],
            "description": "a VID: an access port; VLANs may be given by name, and those of a "
            "trunk as text with ranges, too, as in the configuration file",
        }
    ),
]


StormOrNone = Annotated[
    Storm | None,
    AfterValidator(lambda storm: storm or Storm()),
    Field(description="storm control, frames a second; null: none"),
]


class PortChange(_PORT_FIELDS, Change):  # type: ignore[misc, valid-type]
    """What shall be different; what is not given stays."""

    vlan: Vlans = Field(PortVlan())
    storm: StormOrNone = Field(Storm())

    @model_validator(mode="before")
    @classmethod
    def _values(cls, values: Any) -> Any:
        return _whole(values)


class PortDetail(Port):
    """A port, and what it is told."""

    settings: dict[str, Any] = Field(
        description="as the configuration file says it, but what is as without one"
    )


def _vid(value: object) -> object:
    if isinstance(value, str) and not (value.isascii() and value.isdigit() and value[0] != "0"):
        raise ValueError(f"{value!r} is not a VID: 1 to {MAX_VID}")
    return value


MemberVid = Annotated[int, Field(ge=1, le=MAX_VID, description="VID"), BeforeValidator(_vid)]


class MembershipPath(PortPath):
    """Which VLAN of which port."""

    vlan: MemberVid


class Membership(Input):
    """How a port is in a VLAN."""

    pvid: StrictBool = Field(False, description="untagged frames that come in belong to it")
    untagged: StrictBool = Field(False, description="its frames leave without their tag")


class PortVlans(BaseModel):
    """The VLANs of a port."""

    port: PortRef
    mode: Literal["transparent", "access", "trunk"]
    vlans: str = Field(description="VIDs and ranges; all: every VLAN, and what is untagged")
    pvid: int | None = Field(description="the VLAN of untagged frames, null = not let in")
    untagged: list[int] = Field(description="the VLANs that leave without a tag")
    takes_part: bool = Field(description="false: shut down, or only listening")


class Vlan(BaseModel):
    """A VLAN that is named, limited, or in which something is known."""

    vlan: int = Field(description="VID, 0 = untagged")
    name: str | None
    learned: int
    limit: int | None = Field(description="most learned entries, null = no limit of its own")


class VlanStatus(BaseModel):
    """The VLANs of a bridge."""

    vlans: list[Vlan]
    ports: list[PortVlans]
