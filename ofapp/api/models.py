"""What goes in and out of the API.  These models validate, and /openapi.json is made from them.

Listings are built as plain dicts of the same shape: a hundred thousand entries are too many to
pass through a model each.  The tests hold the answers against the models.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, WithJsonSchema

from ofapp.bridge.mac import is_group, parse_mac

MAX_PAGE = 10_000

_OCTET = "[0-9a-fA-F]{1,2}"
_MAC = f"^({_OCTET}(:{_OCTET}){{5}}|{_OCTET}(-{_OCTET}){{5}})$"
_HOST_OCTET = "[0-9a-fA-F]?[02468aceACE]"
_HOST_MAC = f"^({_HOST_OCTET}(:{_OCTET}){{5}}|{_HOST_OCTET}(-{_OCTET}){{5}})$"
_ZERO_MAC = "^(0{1,2}(:0{1,2}){5}|0{1,2}(-0{1,2}){5})$"


def _mac(value: object) -> int:
    return parse_mac(value if isinstance(value, str) else repr(value))


def _host_mac(value: object) -> int:
    mac = _mac(value)
    if not mac or is_group(mac):
        raise ValueError(f"{value} is not the address of one host")
    return mac


def _decimal(value: object) -> object:
    """Path and query hold text; pydantic alone would also take 1_0, +1 and 1.0 for numbers."""
    if isinstance(value, str) and not re.fullmatch("0|[1-9][0-9]{0,17}", value):
        raise ValueError(f"{value!r} is not a decimal number")
    return value


def json_number(value: object) -> object:
    """In a body a number is a number; pydantic alone would also take true and "1"."""
    if isinstance(value, bool | str):
        raise ValueError(f"{value!r} is not a number")  # noqa: TRY004 - pydantic's contract
    return value


DatapathId = Annotated[
    str,
    Field(
        pattern="^[0-9a-fA-F]{16}$",
        description="datapath id",
        json_schema_extra={"example": "0000000000000001"},
    ),
]
Mac = Annotated[
    int,
    BeforeValidator(_mac),
    WithJsonSchema({"type": "string", "pattern": _MAC, "example": "52:54:00:12:34:56"}),
]
HostMac = Annotated[
    int,
    BeforeValidator(_host_mac),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _HOST_MAC,
            "not": {"pattern": _ZERO_MAC},
            "description": "a MAC address of one host, not a group",
            "example": "52:54:00:12:34:56",
        }
    ),
]
Vid = Annotated[
    int, Field(ge=0, le=4094, description="VID, 0 = untagged"), BeforeValidator(_decimal)
]
Number = Annotated[int, Field(ge=0, le=10**15), BeforeValidator(_decimal)]
Cursor = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{24}$")]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE), BeforeValidator(_decimal)]
PortNumber = Annotated[
    int,
    Field(
        ge=1,
        le=0xFFFFFFFE,
        description="OpenFlow port number",
        json_schema_extra={"example": 1},
    ),
    BeforeValidator(json_number),
]
PortText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="a port's name, its number, or LOCAL",
        json_schema_extra={"example": "eth1"},
    ),
]
Kinds = Annotated[str, Field(pattern="^[a-z-]+([.][a-z-]+)*(,[a-z-]+([.][a-z-]+)*)*$")]
TypeName = Literal["learned", "static", "local"]
FlagName = Literal["sticky", "held"]
SeverityName = Literal["debug", "info", "warning", "error"]


class Input(BaseModel):
    """Nothing that is not known: a misspelt filter must not select everything."""

    model_config = ConfigDict(extra="forbid")


# What is asked


class NoQuery(Input):
    """No query parameters."""


class BridgePath(Input):
    """Which bridge."""

    dpid: DatapathId


class StaticPath(BridgePath):
    """Which static entry."""

    vlan: Vid
    mac: HostMac


class EntryFilter(Input):
    """Which entries; all that is given must fit."""

    mac: Mac | None = None
    vlan: Vid | None = Field(
        None, description="a VID, 0 = untagged; local entries are in every VLAN"
    )
    port: PortText | None = None


class Listing(EntryFilter):
    """Which entries, and which page of them."""

    type: TypeName | None = None
    limit: PageSize = Field(1000, description="most entries of a page")
    cursor: Cursor | None = Field(None, description="`next` of the page before")


class StaticBody(Input):
    """Where a static entry points."""

    port: PortText


class EventFilter(Input):
    """Which events; all that is given must fit."""

    kind: Kinds | None = Field(
        None,
        description="kinds or what they begin with, up to a dot; several with commas between",
        json_schema_extra={"example": "stp,port"},
    )
    bridge: DatapathId | None = None
    severity: SeverityName = Field("debug", description="at least so severe")


class Since(EventFilter):
    """From where on."""

    since: Number = Field(0, description="only events with a higher number")


class StreamStart(EventFilter):
    """From where on; without it, from now on."""

    since: Number | None = Field(
        None, description="also the remembered events with a higher number"
    )


class LastEventId(BaseModel):
    """What a client sends that resumes a stream."""

    id: Annotated[str, Field(pattern="^([0-9a-f]{1,16}-)?[0-9]{1,15}$")] | None = Field(
        None, alias="Last-Event-ID", description="`id` of the last event it has seen"
    )

    def after(self, life: str) -> int:
        """The number of that event, 0 when it was another life of the controller."""
        its, _, number = (self.id or "0").rpartition("-")
        return int(number) if its in ("", life) else 0


class AnyBridgePath(Input):
    """Which bridge; what is not a datapath id is merely not found."""

    dpid: str = Field(
        description="datapath id, 16 hex digits",
        json_schema_extra={"example": "0000000000000001"},
    )


class MacTableEntry(BaseModel):
    """An address to teach.  Other keys are ignored, as Ryu's sample does."""

    mac: HostMac
    port: PortNumber


# What is answered


class MacTable(RootModel[dict[str, int]]):
    """Address to port number."""


class PortRef(BaseModel):
    """A port.  number: of OpenFlow, 4294967294 is LOCAL; null while the port is away."""

    number: int | None
    name: str


class Entry(BaseModel):
    """An address and where it is."""

    mac: str
    vlan: int | None = Field(description="VID, 0 = untagged; null = every VLAN")
    port: PortRef
    type: TypeName
    flags: list[FlagName] = Field(
        description="sticky = learned for good; held = held down, see /v1/bridges/{dpid}/fdb/held"
    )
    updated: float | None = Field(description="seconds since it was last seen as a source")
    used: float | None = Field(description="seconds since it was last used as a destination")


class BridgeEntry(Entry):
    """An entry and its bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")


class EntryPage(BaseModel):
    """Entries by VLAN and address; those for every VLAN first."""

    entries: list[Entry]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")


class BridgeEntryPage(BaseModel):
    """Entries by bridge, VLAN and address."""

    entries: list[BridgeEntry]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")


class Held(BaseModel):
    """An address that is held down: frames from it pass on its port only."""

    mac: str
    vlan: int = Field(description="VID, 0 = untagged")
    port: PortRef = Field(description="where it is known")
    elsewhere: PortRef = Field(description="where else it was seen last")
    reason: Literal["moves", "sticky"] = Field(
        description="it moved too often, or is of a sticky port"
    )
    seconds_left: float = Field(description="until it is let go")
    sightings: int = Field(description="those from elsewhere that the controller was told of since")


class HeldList(BaseModel):
    """Who is held down, the longest first."""

    held: list[Held]


class VlanLimit(BaseModel):
    """The limit of one VLAN."""

    vlan: int
    learned: int = Field(description="learned entries")
    limit: int = Field(description="most learned entries")
    refused: int = Field(description="sightings not learned because of that limit")
    dropping: bool = Field(description="frames from unknown hosts are dropped now")


class BridgeLimits(BaseModel):
    """What is bounded."""

    fdb_max_learned: int = Field(description="most learned entries")
    packet_in_rate: int = Field(
        description="frames of unknown sources a second that each port is sure to show"
    )
    vlans: list[VlanLimit] = Field(description="the VLANs that have a limit of their own")


class FdbCounts(BaseModel):
    """The size of the forwarding database."""

    learned: int
    static: int
    local: int
    refused: int = Field(description="sightings not learned because the bridge was full")
    learned_by_port: dict[str, int] = Field(description="by the port's name")


class Bridge(BaseModel):
    """One datapath's bridge."""

    datapath_id: DatapathId
    name: str
    former_name: str | None = Field(
        description="what it was called, while its switch is away and another bridge has that name"
    )
    connected: bool
    away: float | None = Field(description="seconds since its switch went away, null = it is there")
    in_line: bool = Field(description="the switch holds what the bridge wants")
    standby: str | None = Field(
        description="who else looks after the switch, so that this controller holds still"
    )
    refused: list[str] = Field(description="what the switch refuses now, and why, in words")
    peer: str | None = Field(description="address of the switch, while it is connected")
    ageing_time: int = Field(description="seconds, 0 = entries never age")
    limits: BridgeLimits
    fdb: FdbCounts
    counters: dict[str, int] = Field(
        description="of learning since the start, and of the present connection"
    )
    drops: dict[str, int] = Field(
        description="frames that the switch dropped, by rule, as of the last sweep"
    )


class BridgeList(BaseModel):
    """All bridges."""

    bridges: list[Bridge]


class Port(BaseModel):
    """A port of a bridge."""

    number: int = Field(description="of OpenFlow; 4294967294 is LOCAL")
    name: str
    local: bool = Field(description="the port of the host that the switch runs on")
    mac: str
    up: bool
    state: Literal["disabled", "discarding", "learning", "forwarding"] = Field(
        description="what becomes of frames (802.1D-2004 7.4); disabled = the link is down"
    )
    learned: int = Field(description="learned entries")
    limit: int | None = Field(description="most learned entries, null = no limit of its own")
    refused: int = Field(description="sightings not learned because of that limit")
    dropping: bool = Field(
        description="frames from unknown hosts are dropped now, because of that limit"
    )
    packet_in_rate: int = Field(
        description="frames of unknown sources a second that it may show to the controller now"
    )
    held_back: dict[Literal["sighting", "bpdu", "snooped"], int] = Field(
        description="frames that came too fast for the controller and were kept from it, by kind,"
        " as of the last sweep of the present connection"
    )


class PortList(BaseModel):
    """All ports of a bridge."""

    ports: list[Port]


class Flushed(BaseModel):
    """What a flush did."""

    flushed: int = Field(description="entries forgotten")


class EventItem(BaseModel):
    """Something that happened."""

    number: int = Field(description="counts up; those of severity debug are not remembered")
    time: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    datapath_id: DatapathId | None
    kind: str
    severity: SeverityName
    message: str
    port: int | None
    data: dict[str, Any]


class EventList(BaseModel):
    """The latest events, oldest first."""

    events: list[EventItem]
    last: int = Field(description="number of the newest event there is")


class ProblemField(BaseModel):
    """One thing that is wrong."""

    field: str
    detail: str


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemField] = Field(description="which fields are to blame, if any")
