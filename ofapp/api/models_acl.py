"""Access lists as the API tells them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from ofapp.api.models import PortRef


class AclRule(BaseModel):
    """A rule and what it has done.  The last of each list is what comes after all others: drop."""

    name: str
    match: str = Field(
        description="as in the configuration file",
        json_schema_extra={"example": "vlan=lab tcp_dst=80,443"},
    )
    action: Literal["allow", "drop"]
    mirror: PortRef | None = Field(description="who gets a copy")
    rate: int | None = Field(description="frames a second that pass; others are dropped")
    packets: int | None = Field(
        description="frames it decided on; null for a list that no port has, and before the switch"
        " was there"
    )
    bytes: int | None
    over_rate: int | None = Field(description="of these, frames that were dropped for the rate")
    since: str | None = Field(
        description="UTC, when these began to count", json_schema_extra={"format": "date-time"}
    )


class Acl(BaseModel):
    """An access list: the first rule that matches decides."""

    name: str
    ports: list[PortRef] = Field(description="the ports that are there and have it")
    rules: list[AclRule]


class AclList(BaseModel):
    """All access lists of a bridge."""

    acls: list[Acl]
    metered: bool | None = Field(
        description="whether the switch has meters; without them no rate is kept; null while it is"
        " away"
    )
