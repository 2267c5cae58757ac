"""Multicast snooping in the API.  Parameters are those of the configuration file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from ofapp.api.changes import Change, fields_of
from ofapp.api.models import (
    BridgePath,
    DatapathId,
    Input,
    PageSize,
    PortRef,
    PortText,
    Vid,
    json_number,
)
from ofapp.bridge.multicast import parse, parse_group
from ofapp.bridge.multicast.address import is_host
from ofapp.bridge.multicast.patterns import GROUP4, HOST4, ipv6_pattern
from ofapp.bridge.permanent_entries import MAX_EXCLUDED, check_addresses
from ofapp.config.multicast import MulticastBridge, MulticastPort, MulticastVlan

EntryType = Literal["temp", "permanent"]
FilterMode = Literal["include", "exclude"]


def _plain(value: object) -> str:
    """Text without a zone, which no address in a frame has."""
    if not isinstance(value, str) or "%" in value:
        raise ValueError(f"{value!r} is not an address")
    return value


def _group(value: object) -> bytes:
    group = parse_group(_plain(value))
    check_addresses(group, None)
    return group


def _source(value: object) -> bytes:
    source = parse(_plain(value))
    if not is_host(source):
        raise ValueError(f"{value} is not the address of one host")
    return source


_GROUP_MAC = "[0-9a-fA-F]?[13579bBdDfF](:[0-9a-fA-F]{1,2}){5}"
Group = Annotated[
    bytes,
    BeforeValidator(_group),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({GROUP4}|{ipv6_pattern('[fF]{2}[0-9a-fA-F][2-9a-fA-F]')}|{_GROUP_MAC})$",
            "not": {
                "pattern": "^(224[.]0[.]0[.]|[fF]{2}02(:0{1,4})*::?(0{1,4}:)*0{0,3}1$"
                "|[fF]{2}(:[fF]{2}){5}$|0?1:80:[cC]2(:0?0){2}:0?[0-9a-fA-F]$)"
            },
            "description": "a multicast group: of IPv4 or IPv6, not 224.0.0.x nor ff02::1,"
            " which always flood, nor one of IPv6 scope 0 or 1; or, for frames that are not IP, a"
            " MAC address, not ff:ff:ff:ff:ff:ff nor 01:80:c2:00:00:0x",
            "example": "239.1.1.1",
        }
    ),
]
_FIRST = "([0-9a-fA-F]{1,3}|[0-9a-eA-E][0-9a-fA-F]{3}|[fF][0-9a-eA-E][0-9a-fA-F]{2})"
Source = Annotated[
    bytes,
    BeforeValidator(_source),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({HOST4}|{ipv6_pattern(_FIRST)})$",
            "not": {"pattern": "^[0:]+[01]$"},
            "description": "a host's address",
            "example": "10.0.0.1",
        }
    ),
]
_HOST = f"({HOST4}|{ipv6_pattern(_FIRST)})"


def _sources(value: object) -> tuple[bytes, ...]:
    return tuple(map(_source, str(value).split(",")))


Exclude = Annotated[
    tuple[bytes, ...],
    BeforeValidator(_sources),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{_HOST}(,{_HOST}){{0,{MAX_EXCLUDED - 1}}}$",
            "not": {"pattern": "(^|,)[0:]+[01](,|$)"},
            "description": "hosts' addresses with commas between",
            "example": "10.0.0.1,10.0.0.2",
        }
    ),
]
MdbCursor = Annotated[str, Field(pattern="^([A-Za-z0-9_-]{4}){14,100}$")]


# What is asked


class MdbListing(Input):
    """Which entries, all that is given must fit, and which page of them."""

    vlan: Vid | None = None
    group: Group | None = None
    port: PortText | None = None
    type: EntryType | None = None
    limit: PageSize = Field(1000, description="most entries of a page")
    cursor: MdbCursor | None = Field(None, description="`next` of the page before")


class MdbPath(BridgePath):
    """Which group, on which port."""

    vlan: Vid
    group: Group
    port: PortText


class MdbSource(Input):
    """From whom."""

    source: Source | None = Field(None, description="only from this source; without it, from all")


class MdbAddition(MdbSource):
    """What kind of an entry."""

    exclude: Exclude | None = Field(None, description="from all but these")
    type: EntryType = Field(
        "permanent", description="temp: as if a host had joined, so it ages as others do"
    )


class MdbRemoval(MdbSource):
    """Which entry; without a type whatever there is."""

    type: EntryType | None = None


class MdbFilter(Input):
    """Which entries; all that is given must fit."""

    vlan: Vid | None = None
    group: Group | None = None
    port: PortText | None = None
    type: EntryType = Field("temp", description="temp: what hosts have reported")


class MulticastPortPath(BridgePath):
    """Which port of which bridge."""

    port: PortText


class MulticastVlanPath(BridgePath):
    """Which VLAN of which bridge."""

    vlan: Vid


class MulticastVlanChange(Change, fields_of(MulticastVlan)):  # type: ignore[misc]
    """Parameters of a VLAN; what is not given stays as it is."""


class MulticastVlanPart(MulticastVlanChange):
    """Parameters of one of the VLANs."""

    vlan: Annotated[int, BeforeValidator(json_number)] = Field(
        ge=0, le=4094, description="VID, 0 = untagged"
    )

    def values(self) -> dict[str, Any]:
        """What is given of it."""
        return {name: value for name, value in super().values().items() if name != "vlan"}


class MulticastBridgeChange(
    Change,
    fields_of(MulticastBridge, leave_out=("vlans",)),  # type: ignore[misc]
):
    """Parameters of a bridge and of its VLANs; what is not given stays as it is."""

    vlans: list[MulticastVlanPart] = Field(  # null is refused, as for the others
        default=cast(Any, None),
        description="of VLANs, for what only goes together with the bridge's",
    )


class MulticastPortChange(Change, fields_of(MulticastPort)):  # type: ignore[misc]
    """Parameters of a port; what is not given stays as it is."""


# What is answered


class MdbSourceItem(BaseModel):
    """A source that a port has named."""

    address: str
    timer: float = Field(description="seconds left")
    blocked: bool = Field(description="not forwarded: the port wants all but this one")


class MdbEntry(BaseModel):
    """A group on a port.  What was reported is one entry, what was set is one a source."""

    vlan: int = Field(description="VID, 0 = untagged")
    group: str
    source: str | None = Field(description="of a permanent entry; null = from all")
    port: PortRef
    type: EntryType
    filter_mode: FilterMode = Field(
        description="include: only from `sources`; exclude: from all but the blocked ones"
    )
    timer: float | None = Field(
        description="seconds left of the group; null where only sources have timers, or nothing"
    )
    sources: list[MdbSourceItem]
    hosts: list[str] = Field(description="MAC addresses of the members, where they are tracked")


class MdbPage(BaseModel):
    """Entries by VLAN, group and port."""

    entries: list[MdbEntry]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")


class EntryCounts(BaseModel):
    """Entries that hosts have caused in the datapath."""

    used: int
    limit: int = Field(description="mcast_hash_max")


class QuerierStatus(BaseModel):
    """Who asks for members."""

    enabled: bool = Field(description="this bridge asks unless another querier does")
    state: Literal["none", "self", "other"]
    address: str | None
    version: int = Field(description="of IGMP or MLD")
    port: PortRef | None = Field(description="where another querier is heard")
    timer: float | None = Field(
        description="seconds until another counts as gone, or until this bridge asks next"
    )
    proxies: list[PortRef] = Field(
        description="where somebody asks from 0.0.0.0 or ::, while nobody better asks: no router"
        " ports, but they get every report and group as well"
    )


class RouterPort(BaseModel):
    """A port that gets every group."""

    port: PortRef
    reasons: list[Literal["permanent", "query", "pim", "mrd", "restored", "topology-change"]] = (
        Field(
            description="restored: the switch had it so; topology-change: a router may have moved"
        )
    )
    timer: float | None = Field(description="seconds left; null for a permanent one")
    routers: list[str] = Field(description="addresses heard here")


class FamilyStatus(BaseModel):
    """IPv4 or IPv6 in one VLAN."""

    forwarding: Literal["flood", "restrict"] = Field(
        description="whether groups go to all ports or to those that want them"
    )
    reason: str = Field(description="why")
    unregistered: list[PortRef] | None = Field(
        description="ports that get groups nobody joined; null = all"
    )
    groups: int = Field(description="groups with members or permanent entries")
    querier: QuerierStatus
    router_ports: list[RouterPort]


class MulticastVlanStatus(BaseModel):
    """A VLAN that is looked after."""

    vlan: int = Field(description="VID, 0 = untagged")
    ipv4: FamilyStatus
    ipv6: FamilyStatus
    mac_groups: int = Field(description="MAC addresses with permanent entries")


class MulticastPortStatus(BaseModel):
    """A port."""

    number: int = Field(description="of OpenFlow")
    name: str
    groups: int = Field(description="memberships that hosts have reported here")
    counters: dict[str, int] = Field(
        description="rx_ and tx_: messages by kind; drop_: messages not heeded, by reason;"
        " limit_: what was refused, by limit"
    )
    parameters: MulticastPort


class TopologyChanges(BaseModel):
    """Topology changes that snooping was told of."""

    heard: int
    delayed: int = Field(description="too soon after others to be asked about at once")


class MulticastStatus(BaseModel):
    """Multicast snooping of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    entries: EntryCounts
    vlans_refused: int = Field(
        description="messages in VLANs that are not looked after: there are too many"
    )
    topology_changes: TopologyChanges
    parameters: MulticastBridge
    vlans: list[MulticastVlanStatus]
    ports: list[MulticastPortStatus]
