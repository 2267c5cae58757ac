"""/v1/hosts: each host once, with its names, where it is attached, and when it was seen."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Annotated, Literal, NamedTuple

from flask import Response
from pydantic import BaseModel, Field, field_validator

from ofapp.api.auth import caller
from ofapp.api.base import (
    PAGE,
    DatapathId,
    HostMac,
    Input,
    NoQuery,
    PageSize,
    PortRef,
    PortText,
    SilentMembers,
    Vid,
)
from ofapp.api.lookup import known_port, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.pagination import smallest
from ofapp.api.problems import UNSAVED, documented, field_problem, resource
from ofapp.api.resources.bridge.lldp import said_by
from ofapp.api.resources.hosts.search import by_ip, wanted_macs
from ofapp.api.resources.hosts.vendors import KNOWN
from ofapp.api.resources.topology import around, in_turns
from ofapp.api.responses import answer, utc
from ofapp.api.roles import all_members, operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import NO_PORT, Entry
from ofapp.bridge.mac import format_mac, is_mac, parse_mac
from ofapp.bridge.queries import fdb_tables, host_name, host_names, ip_addresses
from ofapp.common import hub
from ofapp.common.printable import printable
from ofapp.controller.audit import record
from ofapp.controller.hosts.labels import LONGEST, PATTERN, TooManyLabelsError
from ofapp.controller.network import Network
from ofapp.controller.topology import topology

TAG = Tag(name="hosts", description="Hosts, each of them once.")

SourceName = Literal["label", "dhcp", "lldp"]
Cursor = Annotated[str, Field(pattern="^[0-9a-f]{12}$")]


class HostFilter(Input):
    """Filter of hosts, and which page of them; all given fields must match."""

    q: str | None = Field(
        None,
        min_length=2,
        max_length=64,
        description="a part of a name, of a MAC address or of a vendor's name; an IP address, or"
        " its beginning",
    )
    vlan: Vid | None = Field(None, description="a VID, 0 = untagged; only present hosts")
    port: PortText | None = Field(None, description="only present hosts on such a port")
    present: bool = Field(False, description="only hosts that a switch knows now")
    limit: PageSize = Field(PAGE, description="most hosts of a page")
    cursor: Cursor | None = Field(None, description="`next` of the page before")


class HostPath(Input):
    """Path of a host."""

    mac: HostMac


class LabelBody(Input):
    """A label."""

    label: str = Field(
        pattern=PATTERN,
        description=f"at most {LONGEST} letters, digits and signs, with spaces inside",
        json_schema_extra={"example": "Printer, room 12"},
    )

    @field_validator("label", mode="before")
    @classmethod
    def _named(cls, given: object) -> object:
        """Say what a label is; the error of pydantic is the pattern."""
        if isinstance(given, str) and not re.fullmatch(PATTERN, given):
            raise ValueError(
                f"must be 1 to {LONGEST} letters, digits and signs, with spaces inside"
            )
        return given


class HostName(BaseModel):
    """A name of a host."""

    name: str
    source: SourceName = Field(
        description="label: set by a user; dhcp, lldp: given by the host itself, not verified"
    )


class Host(BaseModel):
    """A host, by its MAC address."""

    mac: str
    names: list[HostName] = Field(description="the first one is to be shown")
    vendor: str | None = Field(description="vendor of the network card, null = not known")
    present: bool = Field(description="a switch knows it now")
    datapath_id: DatapathId | None = Field(
        description="bridge that it is attached to, or was last; null = not known"
    )
    bridge: str | None = Field(description="the bridge's name; null = the bridge is gone")
    port: PortRef | None
    vlans: list[int] = Field(description="VIDs of its entries on that bridge, 0 = untagged")
    addresses: list[str] = Field(description="IP addresses, as in /v1/fdb")
    updated: float | None = Field(description="seconds since it was last seen; null = not present")
    first_seen: str | None = Field(
        description="UTC, within a minute, since the controller's start; null = less than a minute",
        json_schema_extra={"format": "date-time"},
    )
    last_seen: str | None = Field(
        description="UTC; null = not since the controller's start",
        json_schema_extra={"format": "date-time"},
    )


class HostPage(BaseModel):
    """Hosts by MAC address."""

    hosts: list[Host]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")
    silent: SilentMembers = []


class _Surroundings(NamedTuple):
    """inner: ports to other bridges, by datapath id; announced: names by LLDP."""

    inner: Mapping[int, Set[int]]
    announced: Mapping[int, str]


class _Place(NamedTuple):
    bridge: Bridge
    vid: int
    entry: Entry


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("hosts", TAG, "/v1/hosts")

    @api.get("", responses={200: HostPage})
    @viewer
    @all_members("hosts")
    def listed(query: HostFilter) -> Response:
        """Each host once, at the port where it is attached; also hosts that have left.

        A million hosts are remembered, since the start of the controller.
        """
        around_ = _surroundings(network)
        after = -1 if query.cursor is None else int(query.cursor, 16)
        wanted = None if query.q is None else _wanted(network, around_, query.q.casefold())
        found: set[int] = set()
        for macs in _pieces(network, around_, query):
            fitting = [mac for mac in macs if wanted(mac)] if wanted is not None else macs
            found.update(smallest(query.limit + 1, fitting, after))
        page = smallest(query.limit + 1, [*found], after)
        following = f"{page[query.limit - 1]:012x}" if len(page) > query.limit else None
        hosts = [_host(network, around_, mac) for mac in in_turns(page[: query.limit])]
        return answer(HostPage(hosts=hosts, next=following))

    @api.put("/<mac>/label", responses={204: None, **documented(400, 409, 413, 415), **UNSAVED})
    @operator
    def label(path: HostPath, query: NoQuery, body: LabelBody) -> Response:
        """Label a host, which need not be present.  409: there are too many labels."""
        before = network.labels.get(path.mac)
        try:
            saved = network.labels.put(path.mac, body.label, caller().name)
        except TooManyLabelsError as error:
            raise field_problem(409, "label", str(error)) from None
        former = "none" if before is None else before.name
        record(f"label of {format_mac(path.mac)}: {former} -> {body.label}")
        saved.wait()
        return Response(status=204)

    @api.delete("/<mac>/label", responses={204: None, **documented(404), **UNSAVED})
    @operator
    def unlabel(path: HostPath, query: NoQuery) -> Response:
        """Remove the label of a host."""
        saved = network.labels.remove(path.mac)
        if saved is None:
            raise field_problem(404, "mac", f"{format_mac(path.mac)} has no label")
        record(f"label of {format_mac(path.mac)}: removed")
        saved.wait()
        return Response(status=204)

    return api


def _surroundings(network: Network) -> _Surroundings:
    found = topology(around(network))
    inner: dict[int, set[int]] = {}
    for link in found.links:
        for end in (link.a, link.b):
            inner.setdefault(end.datapath_id, set()).add(end.port)
    said = (said_by(one.lldp) for one in in_turns(found.neighbours) if one.lldp is not None)
    announced = {
        parse_mac(own.chassis_id): printable(own.system_name)[:LONGEST]
        for own in said
        if own.system_name and is_mac(own.chassis_id)
    }
    return _Surroundings(inner, announced)


def _pieces(network: Network, around_: _Surroundings, query: HostFilter) -> Iterator[list[int]]:
    """The addresses of all hosts, those of one table at a time, unsorted and not once each."""
    for datapath_id, bridge in sorted(network.bridges.items()):
        number = None
        if query.port is not None:
            port = known_port(bridge, query.port)
            if port is None:
                continue
            number = port.number
        without = around_.inner.get(datapath_id, set()) | {NO_PORT}
        for vid in [*fdb_tables(bridge)]:
            if query.vlan in (None, vid):
                yield [
                    mac
                    for mac, entry in fdb_tables(bridge).get(vid, {}).items()
                    if entry.port not in without and number in (None, entry.port)
                ]
                hub.sleep(0)
    if not (query.present or query.port is not None or query.vlan is not None):
        yield [mac for mac, _ in network.labels]
        yield [*network.sightings.hosts]


def _wanted(network: Network, around_: _Surroundings, text: str) -> Callable[[int], bool]:
    """The test for hosts whose address, vendor or name contains a text."""
    by_mac = wanted_macs(text, KNOWN)
    macs = {mac for _, mac in by_ip(network, text)}
    macs |= {mac for mac, label in network.labels if text in label.name.casefold()}
    macs |= {mac for mac, name in around_.announced.items() if text in name.casefold()}
    for bridge in [*network.bridges.values()]:
        macs |= {mac for mac, name in host_names(bridge).items() if text in name.casefold()}
    return lambda mac: mac in macs or by_mac(mac)


def _host(network: Network, around_: _Surroundings, mac: int) -> Host:
    bridges, seen = network.bridges, network.sightings.of(mac)
    places = [*_places(network, around_, mac)]
    connected = network.datapaths
    best = max(
        places,
        key=lambda own: (own.bridge.datapath_id in connected, own.entry.updated),
        default=None,
    )
    datapath_id = port = last = age = None
    if best is not None:
        datapath_id, port = best.bridge.datapath_id, best.entry.port
        age = max(0.0, round(time.monotonic() - best.entry.updated, 3))
        last = time.time() - age
    elif seen is not None:
        datapath_id, port, last = seen.datapath_id, seen.port, float(seen.last)
    bridge = None if datapath_id is None else bridges.get(datapath_id)
    vids = [own.vid for own in places if own.bridge is bridge]
    return Host(
        mac=format_mac(mac),
        names=[*_names(network, around_, mac)],
        vendor=KNOWN.name(mac >> 24),
        present=best is not None,
        datapath_id=None if datapath_id is None else f"{datapath_id:016x}",
        bridge=None if bridge is None else bridge.name,
        port=None if bridge is None or port is None else port_ref(bridge, port),
        vlans=sorted(vids),
        addresses=[
            *dict.fromkeys(
                each for own in places for each in ip_addresses(own.bridge, own.vid, mac)
            )
        ],
        updated=age,
        first_seen=None if seen is None else utc(seen.first),
        last_seen=None if last is None else utc(last),
    )


def _places(network: Network, around_: _Surroundings, mac: int) -> Iterator[_Place]:
    for datapath_id, bridge in [*network.bridges.items()]:
        without = around_.inner.get(datapath_id, ())
        for vid, table in [*fdb_tables(bridge).items()]:
            entry = table.get(mac)
            if entry is not None and entry.port != NO_PORT and entry.port not in without:
                yield _Place(bridge, vid, entry)


def _names(network: Network, around_: _Surroundings, mac: int) -> Iterator[HostName]:
    if (label := network.labels.get(mac)) is not None:
        yield HostName(name=label.name, source="label")
    given = (host_name(bridge, mac) for bridge in [*network.bridges.values()])
    for name in dict.fromkeys(filter(None, given)):
        yield HostName(name=name, source="dhcp")
    if (announced := around_.announced.get(mac)) is not None:
        yield HostName(name=announced, source="lldp")
