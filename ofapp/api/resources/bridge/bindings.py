"""/v1/bridges/{dpid}/bindings: which addresses hosts may use, and what was refused."""

from __future__ import annotations

import base64
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from ipaddress import ip_address
from operator import itemgetter
from typing import Annotated, Any

from flask import Response
from pydantic import BaseModel, BeforeValidator, Field, StrictBool, WithJsonSchema

from ofapp.api.base import (
    PAGE,
    BridgePath,
    HostMac,
    Input,
    IpAddress,
    Mac,
    NoQuery,
    PageSize,
    PortRef,
    PortText,
    Vid,
    json_number,
)
from ofapp.api.lookup import find_bridge, find_port, known_port, no_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, documented, refused, resource
from ofapp.api.responses import answer, listing, plain, utc
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding as CoreBinding
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.binding import Refused as CoreRefused
from ofapp.bridge.first_hop.refused.reasons import words
from ofapp.bridge.mac import format_mac
from ofapp.bridge.params.patterns import HOST4, OCTET, ipv6_pattern
from ofapp.common import hub
from ofapp.controller.network import Network

TAG = Tag(name="bindings", description="Bindings: which addresses hosts may use.")

Key = tuple[int, int, bytes, int, int]
"""(VID, octets of the address, the address, bits that count, place among those that share it)."""

_CURSOR = struct.Struct("!HB16sBB")
_PIECE = 5000  # bindings that are compared in a row: a millisecond or two


def _bound(value: object) -> BoundAddress:
    return BoundAddress.parse(value if isinstance(value, str) else repr(value))


_FIRST = "([0-9a-fA-F]{1,3}|[0-9a-eA-E][0-9a-fA-F]{3}|[fF][0-9a-eA-E][0-9a-fA-F]{2})"
_PREFIX4 = rf"(1[0-9]|19[28])([.]{OCTET}){{2}}[.]0/24"
_PREFIX6 = "[23][0-9a-fA-F]{3}(:[0-9a-fA-F]{1,4}){2}::/(4[89]|5[0-9]|6[0-4])"
_BOUND_SCHEMA = {
    "type": "string",
    "pattern": f"^({HOST4}|{ipv6_pattern(_FIRST)}|{_PREFIX4}|{_PREFIX6})$",
    "not": {"pattern": "^[0:]*[0-9a-fA-F]{1,2}$"},
    "description": "an IPv4 or IPv6 address of a host, or a prefix that is routed to it",
    "example": "10.0.0.7",
}
"""Other prefixes are taken, too, if no bits are set beyond their length, which no pattern tells."""
Bound = Annotated[BoundAddress, BeforeValidator(_bound), WithJsonSchema(_BOUND_SCHEMA)]
JsonVid = Annotated[
    int, Field(ge=0, le=4094, description="VID, 0 = untagged"), BeforeValidator(json_number)
]


class BindingPath(BridgePath):
    """Path of a binding."""

    vlan: Vid
    address: Bound


class BindingListing(Input):
    """Filter of bindings, of which all given fields must match, and the page."""

    port: PortText | None = None
    vlan: Vid | None = None
    mac: Mac | None = None
    address: IpAddress | None = Field(
        None, description="an address: its bindings, and those of prefixes that contain it"
    )
    origin: Origin | None = None
    limit: PageSize = Field(PAGE, description="most bindings of a page")
    cursor: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{28}$")] | None = Field(
        None, description="`next` of the page before"
    )


class BindingBody(Input):
    """A new binding."""

    port: PortText
    vlan: JsonVid = 0
    mac: HostMac
    address: Bound
    shared: StrictBool = Field(
        False, description="other hosts share the address, as with VRRP: each has its binding"
    )


class BindingHost(Input):
    """The only host that loses an address which several share."""

    port: PortText | None = None
    mac: Mac | None = None


class Binding(BaseModel):
    """An address that a host may use."""

    port: PortRef
    vlan: int = Field(description="VID, 0 = untagged")
    mac: str
    address: str = Field(description="an IPv4 or IPv6 address or prefix")
    origin: Origin = Field(description="file and api: set by a user, without limit and end")
    seconds_left: float | None = Field(description="until it ends unless renewed; null = it stays")
    shared: bool = Field(description="other hosts may have a binding of the same address")


class BindingPage(BaseModel):
    """Bindings by VLAN and address."""

    entries: list[Binding]
    next: str | None = Field(description="`cursor` of the page after this one; null on the last")


class RefusedClaim(BaseModel):
    """Frames of one kind that were refused on a port."""

    port: PortRef
    vlan: int = Field(description="VID, 0 = untagged")
    mac: str = Field(description="their source address")
    claim: str = Field(
        description="what they claim: source, arp, nd, dhcp-server, router, redirect,"
        " multicast-router, ethertype, fragment or nested; dhcp: messages to a server that the"
        " controller has dropped"
    )
    address: str | None = Field(description="the claimed IP address; null where there is none")
    ethertype: str | None = Field(description="as 0x8863: of a claim `ethertype`; null for others")
    contradicts: Binding | None = Field(
        description="the binding of that address, which another host has; null if there is none"
    )
    samples: int = Field(description="frames that the switch sampled; more were refused")
    first: str = Field(description="when the first one was sampled")
    last: str = Field(description="when the last one was sampled")
    passed: bool = Field(description="they were forwarded, as the port only reports")
    reason: str | None = Field(description="the counter of the refusal; null: the switch's alone")
    why: str | None = Field(description="the reason in words")


class RefusedList(BaseModel):
    """The claims that were refused last, the latest first."""

    refused: list[RefusedClaim]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    prefix = "/v1/bridges/<dpid>/bindings"
    api = resource("bindings", TAG, prefix)

    @api.get("", responses={200: BindingPage, **documented(404, 409)})
    @viewer
    def bindings(path: BridgePath, query: BindingListing) -> Response:
        """A bridge's bindings by VLAN and address, a page at a time."""
        bridge = find_bridge(network, path.dpid)
        after = None if query.cursor is None else _decode(query.cursor)
        selected = ((_key(bridge, own), own) for own in _selected(bridge, query))
        beyond = (row for row in selected if after is None or row[0] > after)
        rows = nsmallest(query.limit + 1, beyond, key=itemgetter(0))
        page = [own for _, own in rows[: query.limit]]
        cursor = _encode(_key(bridge, page[-1])) if len(rows) > len(page) else None
        return listing("entries", page, lambda some: _entries(bridge, some), {"next": cursor})

    @api.post(
        "",
        responses={200: Binding, 201: Binding, **documented(400, 404, 409, 413, 415), **UNSAVED},
    )
    @operator
    def add(path: BridgePath, query: NoQuery, body: BindingBody) -> Response:
        """Let a host use an address: 201, or 200 when the address had a binding before.

        It replaces one that a host has caused.  By the time of the answer the switch enforces it,
        if it is connected and replies within two seconds.  409: the address has a binding of
        another host that a user has set, and they do not share it; or the port is not in the VLAN.
        503, 507: it is in force, but not saved yet.
        """
        bridge = find_bridge(network, path.dpid)
        port = find_port(bridge, body.port, 409)
        known = bool(bridge.first_hop.bindings_of(body.vlan, body.address))
        place = port.name, body.vlan, body.mac
        own = CoreBinding(*place, body.address, Origin.API, shared=body.shared)
        with refused(409):
            saved = network.changes.bindings.add(bridge, own)
        response = plain(_entries(bridge, [own])[0], 200 if known else 201)
        network.dispatcher.carried_out(bridge)
        saved.wait()
        return response

    @api.delete("/<vlan>/<path:address>", responses={204: None, **documented(404, 409), **UNSAVED})
    @operator
    def remove(path: BindingPath, query: BindingHost) -> Response:
        """Remove a binding of any origin; its host may get it again.

        Of hosts that share the address all lose it, or those with the given port and MAC address.
        One of the configuration file returns when the controller restarts.  503, 507: as for POST.
        """
        bridge = find_bridge(network, path.dpid)
        name = _port_name(bridge, query.port)
        hosts = [
            (own.port, own.mac)
            for own in bridge.first_hop.bindings_of(path.vlan, path.address)
            if name in (None, own.port) and query.mac in (None, own.mac)
        ]
        with refused(404):
            saved = network.changes.bindings.remove(bridge, path.vlan, path.address, hosts)
        saved.wait()
        return Response(status=204)

    @api.get("/refused", responses={200: RefusedList, **documented(404, 409)})
    @viewer
    def show_refused(path: BridgePath, query: NoQuery) -> Response:
        """What hosts claimed and were refused, by samples of their frames."""
        bridge = find_bridge(network, path.dpid)
        claims = [_refused(bridge, claim) for claim in bridge.first_hop.refused()]
        return answer(RefusedList(refused=claims))

    @api.delete("/refused", responses={204: None, **documented(404, 409)})
    @operator
    def clear_refused(path: BridgePath, query: NoQuery) -> Response:
        """Forget what was refused."""
        network.changes.bindings.clear_refused(find_bridge(network, path.dpid))
        return Response(status=204)

    return api


def _selected(bridge: Bridge, query: BindingListing) -> Iterator[CoreBinding]:
    name = _port_name(bridge, query.port)
    for own in _candidates(bridge, query):
        if (
            name in (None, own.port)
            and query.vlan in (None, own.vid)
            and query.mac in (None, own.mac)
            and query.origin in (None, own.origin)
        ):
            yield own


def _candidates(bridge: Bridge, query: BindingListing) -> Iterable[CoreBinding]:
    if query.address is not None:
        return bridge.first_hop.having(ip_address(query.address).packed)
    if query.mac is not None and query.vlan is not None:
        return bridge.first_hop.of_host(query.vlan, query.mac)
    return _all(bridge)


def _all(bridge: Bridge) -> Iterator[CoreBinding]:
    """All bindings; other greenlets run in between."""
    for number, own in enumerate(bridge.first_hop.bindings(), 1):
        yield own
        if not number % _PIECE:
            hub.sleep(0)


def _port_name(bridge: Bridge, given: str | None) -> str | None:
    """The name of a port that exists or has bindings; else 404."""
    if given is None:
        return None
    port = known_port(bridge, given)
    if port is None and not any(own.port == given for own in _all(bridge)):
        raise no_port(bridge, given, 404)
    return given if port is None else port.name


def _entries(bridge: Bridge, bindings: Sequence[CoreBinding]) -> list[dict[str, Any]]:
    """Shape: `Binding`, each."""
    now = time.monotonic()
    return [_entry(bridge, own, now) for own in bindings]


def _entry(bridge: Bridge, own: CoreBinding, now: float) -> dict[str, Any]:
    left = bridge.first_hop.seconds_left(own, now)
    return {
        "port": _port(bridge, own.port),
        "vlan": own.vid,
        "mac": format_mac(own.mac),
        "address": str(own.address),
        "origin": own.origin.value,
        "seconds_left": None if left is None else max(0.0, round(left, 3)),
        "shared": own.shared,
    }


def _port(bridge: Bridge, name: str) -> dict[str, Any]:
    return {"number": bridge.ports.numbers.get(name), "name": name}


def _refused(bridge: Bridge, claim: CoreRefused) -> RefusedClaim:
    now, wall = time.monotonic(), time.time()
    binding = claim.contradicts
    return RefusedClaim(
        port=PortRef(**_port(bridge, claim.port)),
        vlan=claim.vid,
        mac=format_mac(claim.mac),
        claim=claim.claim,
        address=None if claim.address is None else str(ip_address(claim.address)),
        ethertype=None if claim.ethertype is None else f"0x{claim.ethertype:04x}",
        contradicts=None if binding is None else Binding(**_entry(bridge, binding, now)),
        samples=claim.samples,
        first=utc(round(wall - (now - claim.first))),
        last=utc(round(wall - (now - claim.last))),
        passed=claim.passed,
        reason=claim.reason or None,
        why=words(claim.reason) if claim.reason else None,
    )


def _key(bridge: Bridge, own: CoreBinding) -> Key:
    sharing = bridge.first_hop.bindings_of(own.vid, own.address) if own.shared else ()
    place = (
        sorted((each.port, each.mac) for each in sharing).index((own.port, own.mac))
        if sharing
        else 0
    )
    return own.vid, len(own.address.octets), own.address.octets, own.address.bits, place


def _encode(key: Key) -> str:
    """Make a cursor after that binding."""
    vid, length, octets, bits, place = key
    packed = _CURSOR.pack(vid, length, octets.ljust(16, b"\0"), bits, place)
    return base64.urlsafe_b64encode(packed).decode()  # 21 octets: without padding


def _decode(cursor: str) -> Key:
    """The key of the last binding of the page before; `BindingListing` has checked the text."""
    vid, length, octets, bits, place = _CURSOR.unpack(base64.urlsafe_b64decode(cursor))
    return vid, length, octets[:length], bits, place
