"""Ports and their VLANs in the API.  Parameters are those of the configuration file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from ofapp.api.changes import Change, fields_of
from ofapp.api.models import BridgePath, Input, Port, PortRef, PortText
from ofapp.config.base import MAX_VID
from ofapp.config.port import Port as PortSettings


class PortPath(BridgePath):
    """Which port of which bridge."""

    port: PortText


_PORT_FIELDS = fields_of(PortSettings, leave_out=("stp", "multicast"))


class PortChange(_PORT_FIELDS, Change):  # type: ignore[misc, valid-type]
    """What shall be different; what is not given stays."""


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
