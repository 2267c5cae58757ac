"""Models of requests to an MDB, and of answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from ofapp.api.base import PAGE, BridgePath, Input, PageSize, PortRef, PortText, Vid
from ofapp.bridge.multicast import parse, parse_group
from ofapp.bridge.multicast.permanent_entries import (
    MAX_EXCLUDED,
    PROTOCOLS,
    check_addresses,
    protocol,
)
from ofapp.bridge.packet.address import is_host
from ofapp.bridge.params.patterns import GROUP4, HOST4, ipv6_pattern

EntryType = Literal["temp", "permanent"]
FilterMode = Literal["include", "exclude"]


def _plain(value: object) -> str:
    """Check that an address has no zone: addresses in frames have none."""
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
            "description": "hosts' addresses, separated by commas",
            "example": "10.0.0.1,10.0.0.2",
        }
    ),
]
MdbCursor = Annotated[str, Field(pattern="^([A-Za-z0-9_-]{4}){14,100}$")]


class MdbListing(Input):
    """Filter of entries, of which all given fields must match, and the page."""

    vlan: Vid | None = None
    group: Group | None = None
    port: PortText | None = None
    type: EntryType | None = None
    limit: PageSize = Field(PAGE, description="most entries of a page")
    cursor: MdbCursor | None = Field(None, description="`next` of the page before")


class MdbPath(BridgePath):
    """Path of a group on a port."""

    vlan: Vid
    group: Group
    port: PortText


class MdbSource(Input):
    """Source of a group."""

    source: Source | None = Field(None, description="only from this source; without it, from all")


_NAMES = "|".join(PROTOCOLS.values())
Proto = Annotated[
    str,
    BeforeValidator(protocol),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({_NAMES}|[4-9]|[1-9][0-9]|1[0-9]{{2}}|2[0-4][0-9]|25[0-5])$",
            "description": "a protocol of rtnetlink, by its name in iproute2 or its number",
            "example": "zebra",
        }
    ),
]


class MdbAddition(MdbSource):
    """Type, origin and sources of a new entry."""

    proto: Proto | None = Field(None, description="origin of a permanent entry; without it, static")
    exclude: Exclude | None = Field(None, description="from all sources but these")
    type: EntryType = Field(
        "permanent", description="temp: as if a host had joined, so it ages as others do"
    )


class MdbRemoval(MdbSource):
    """Source and type of the entry; without a type, entries of both types."""

    type: EntryType | None = None


class MdbFilter(Input):
    """Filter of entries; all given fields must match."""

    vlan: Vid | None = None
    group: Group | None = None
    port: PortText | None = None
    type: EntryType = Field("temp", description="temp: what hosts have reported")


class MdbSourceItem(BaseModel):
    """A source in the filter of a port."""

    address: str
    timer: float = Field(description="seconds left")
    blocked: bool = Field(description="not forwarded: the port excludes it")


class MdbEntry(BaseModel):
    """A group on a port.  Reports make one entry; permanent entries are one per source."""

    vlan: int = Field(description="VID, 0 = untagged")
    group: str
    source: str | None = Field(description="of a permanent entry; null = from all")
    port: PortRef
    type: EntryType
    filter_mode: FilterMode = Field(
        description="include: only from `sources`; exclude: from all but the blocked ones"
    )
    proto: str = Field(description="origin of the entry: kernel for those reported by hosts")
    timer: float | None = Field(
        description="seconds left of the group; null if only sources have timers, or none"
    )
    sources: list[MdbSourceItem]
    hosts: list[str] = Field(description="MAC addresses of the members, where they are tracked")


class MdbPage(BaseModel):
    """Entries by VLAN, group and port."""

    entries: list[MdbEntry]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")
