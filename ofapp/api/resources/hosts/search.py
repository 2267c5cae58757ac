"""/v1/search: bridges, ports, neighbours and hosts on all bridges, by name or address.

A search of a hundred thousand addresses takes tens of milliseconds: it is done in pieces, other
greenlets run in between, and it ends after enough results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sized
from ipaddress import ip_address

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, Input, PortRef, SilentMembers
from ofapp.api.lookup import by_number
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import resource
from ofapp.api.resources.hosts.vendors import KNOWN, Vendors
from ofapp.api.resources.topology import Neighbour, around, map_view
from ofapp.api.responses import answer
from ofapp.api.roles import all_members, viewer
from ofapp.bridge.mac import format_mac
from ofapp.bridge.queries import fdb_tables, hosts_of_ip, hosts_with_ip, ip_addresses
from ofapp.common import hub
from ofapp.controller.network import Network

MOST = 100
"""Most results of each kind."""

TAG = Tag(name="search", description="Search by name or address.")

_PIECE = 5000  # addresses checked in a row: a millisecond or two
_FEW = 500  # IP addresses converted to text in a row: the same
_DIGITS = re.compile(r"[0-9a-f]{4,12}")
_IP = re.compile(r"\d+\.[\d.]*|[0-9a-f]*:[0-9a-f:.]*")


class SearchQuery(Input):
    """Text to search for."""

    q: str = Field(
        min_length=2,
        max_length=64,
        description="a part of a name, of a MAC address, or of a vendor's name; an IP address, or"
        " its beginning",
        json_schema_extra={"example": "eth"},
    )


class FoundBridge(BaseModel):
    """A bridge whose name or datapath id contains the text."""

    datapath_id: DatapathId
    bridge: str = Field(description="its name")


class FoundPort(FoundBridge):
    """A port whose name contains the text."""

    port: PortRef


class FoundHost(BaseModel):
    """A host with a matching MAC address, vendor or IP address.

    /v1/fdb?mac= finds its port.
    """

    mac: str
    vlan: int = Field(description="VID, 0 = untagged")
    vendor: str | None = Field(description="vendor of the network card, null = not known")
    addresses: list[str] = Field(description="IP addresses that it may use, or used last")


class Found(BaseModel):
    """Results of a search."""

    bridges: list[FoundBridge]
    ports: list[FoundPort]
    neighbours: list[Neighbour] = Field(
        description="those whose name, address or management address contains the text"
    )
    hosts: list[FoundHost]
    more: bool = Field(description="there are more results of some kind")
    silent: SilentMembers = []


def blueprint(network: Network) -> APIBlueprint:
    """The route on a network."""
    api = resource("search", TAG, "/v1/search")

    @api.get("", responses={200: Found})
    @viewer
    @all_members("found")
    def search(query: SearchQuery) -> Response:
        """Bridges, ports, neighbours and hosts that match; at most 100 of each."""
        text = query.q.casefold()
        bridges = [
            FoundBridge(datapath_id=f"{bridge.datapath_id:016x}", bridge=bridge.name)
            for bridge in list(network.bridges.values())
            if text in bridge.name.casefold() or text in f"{bridge.datapath_id:016x}"
        ]
        ports = _ports(network, text)
        neighbours = [
            neighbour
            for neighbour in map_view(around(network)).neighbours
            if _says(neighbour, text)
        ]
        hosts = _hosts(network, wanted_macs(text, KNOWN)) | by_ip(network, text)
        kinds: tuple[Sized, ...] = (bridges, ports, neighbours, hosts)
        return answer(
            Found(
                bridges=bridges[:MOST],
                ports=ports[:MOST],
                neighbours=neighbours[:MOST],
                hosts=[
                    FoundHost(
                        mac=format_mac(mac),
                        vlan=vlan,
                        vendor=KNOWN.name(mac >> 24),
                        addresses=_addresses(network, vlan, mac),
                    )
                    for vlan, mac in sorted(hosts)[:MOST]
                ],
                more=any(len(kind) > MOST for kind in kinds),
            )
        )

    return api


def _ports(network: Network, text: str) -> list[FoundPort]:
    """Matching ports; more than MOST, if there are more."""
    matches = []
    for bridge in list(network.bridges.values()):
        hub.sleep(0)
        for port in by_number(bridge):
            if text in port.name.casefold():
                about = PortRef(number=port.number, name=port.name)
                datapath_id = f"{bridge.datapath_id:016x}"
                matches.append(FoundPort(datapath_id=datapath_id, bridge=bridge.name, port=about))
        if len(matches) > MOST:
            break
    return matches


def _says(neighbour: Neighbour, text: str) -> bool:
    """Whether a name or address of a neighbour contains the text."""
    said = neighbour.lldp
    names = [neighbour.chassis_id, neighbour.port_id]
    if said is not None:
        names += [said.system_name, said.port_description, *said.management_addresses]
    return any(text in name.casefold() for name in names if name)


def wanted_macs(text: str, vendors: Vendors) -> Callable[[int], bool]:
    """The test for MAC addresses with this text in them or in their vendor's name."""
    digits = text.replace(":", "").replace("-", "")
    prefixes = vendors.prefixes(text)
    if _DIGITS.fullmatch(digits):
        return lambda mac: digits in f"{mac:012x}" or mac >> 24 in prefixes
    return lambda mac: mac >> 24 in prefixes


def _hosts(network: Network, wanted: Callable[[int], bool]) -> set[tuple[int, int]]:
    """(vlan, mac) of matching hosts, once each; more than MOST, if there are more."""
    hosts: set[tuple[int, int]] = set()
    for vlan, macs in _pieces(network):
        hosts.update((vlan, mac) for mac in macs if wanted(mac))
        if len(hosts) > MOST:
            break
    return hosts


def by_ip(network: Network, text: str) -> set[tuple[int, int]]:
    """(vlan, mac) of hosts by their IP addresses: complete ones or prefixes."""
    if not _IP.fullmatch(text):
        return set()
    try:
        octets = ip_address(text).packed
    except ValueError:
        octets = None
    hosts: set[tuple[int, int]] = set()
    for bridge in list(network.bridges.values()):
        hub.sleep(0)
        if octets is not None:
            hosts |= hosts_of_ip(bridge, octets)
            continue
        for number, (host, addresses) in enumerate(hosts_with_ip(bridge)):
            if any(_begins(each, text) for each in addresses):
                hosts.add(host)
            if number % _FEW == _FEW - 1:
                hub.sleep(0)
        if len(hosts) > MOST:
            break
    return hosts


def _begins(octets: bytes, text: str) -> bool:
    return str(ip_address(octets)).startswith(text)


def _addresses(network: Network, vlan: int, mac: int) -> list[str]:
    """IP addresses of a host on all bridges, once each."""
    addresses = (ip_addresses(bridge, vlan, mac) for bridge in list(network.bridges.values()))
    return list(dict.fromkeys(each for group in addresses for each in group))


def _pieces(network: Network) -> Iterator[tuple[int, list[int]]]:
    """All entries, some addresses at a time."""
    for bridge in list(network.bridges.values()):
        for vlan in list(fdb_tables(bridge)):
            macs = list(fdb_tables(bridge).get(vlan, ()))
            for start in range(0, len(macs), _PIECE):
                yield vlan, macs[start : start + _PIECE]
                hub.sleep(0)
