"""/simpleswitch/mactable: for scripts written for Ryu's and os-ken's sample switch.

As there, a table maps an address to one port number.  An address in several VLANs is listed once:
untagged first, then by the lowest VID.  The sample answers 500 to a body without `mac` or `port`;
here it is 422.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import itemgetter

from flask import Response
from pydantic import BaseModel, Field, RootModel

from ofapp.api.base import HostMac, Input, NoQuery, PortNumber
from ofapp.api.lookup import with_ports
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, field_problem, refused, resource
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import NO_PORT
from ofapp.bridge.mac import format_mac
from ofapp.bridge.queries import fdb_tables, local_addresses
from ofapp.common import hub
from ofapp.controller.network import Network

NAME = "simpleswitch"
TAG = Tag(name="simpleswitch", description="Compatible with Ryu's simple_switch_rest_13.")

_PIECE = 5000


class AnyBridgePath(Input):
    """Path of a bridge; text that is not a datapath id gets 404."""

    dpid: str = Field(
        description="datapath id, 16 hex digits",
        json_schema_extra={"example": "0000000000000001"},
    )


class MacTableEntry(BaseModel):
    """An entry to add.  Other keys are ignored, as in Ryu's sample."""

    mac: HostMac
    port: PortNumber


class MacTable(RootModel[dict[str, int]]):
    """Address to port number."""


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource(NAME, TAG, f"/{NAME}/mactable")

    @api.get("/<dpid>", responses={200: MacTable, **documented(404)})
    @viewer
    def get_table(path: AnyBridgePath, query: NoQuery) -> Response:
        """Addresses and their ports."""
        return _table(_find(network, path.dpid))

    @api.put("/<dpid>", responses={200: MacTable, **documented(400, 404, 409, 413)})
    @operator
    def put_entry(path: AnyBridgePath, query: NoQuery, body: MacTableEntry) -> Response:
        """Add an untagged address as if it had been learned; it moves and ages like any other."""
        bridge = _find(network, path.dpid)
        with refused(409):
            network.changes.fdb.teach(bridge, body.port, 0, body.mac)
        return _table(bridge)

    return api


def _find(network: Network, dpid: str) -> Bridge:
    """Find a bridge; text that is no bridge's id gets 404, as in the sample."""
    for datapath_id, bridge in network.bridges.items():
        if dpid.lower() == f"{datapath_id:016x}":
            return with_ports(network, bridge)
    raise field_problem(404, "dpid", f"there is no bridge {dpid}")


def _table(bridge: Bridge) -> Response:
    """The whole table, as in the sample; written in pieces, and other greenlets run in between."""
    known: dict[int, int] = {}
    for _, table in sorted(fdb_tables(bridge).items(), key=itemgetter(0), reverse=True):
        known.update((mac, entry.port) for mac, entry in table.items())
    known |= local_addresses(bridge)
    return Response(_pieces(list(known.items())), content_type="application/json")


def _pieces(items: list[tuple[int, int]]) -> Iterator[str]:
    comma = "{"
    for start in range(0, len(items), _PIECE):
        some = {
            format_mac(mac): port for mac, port in items[start : start + _PIECE] if port != NO_PORT
        }
        if some:
            yield comma + json.dumps(some)[1:-1]
            comma = ", "
            hub.sleep(0)
    yield "}" if comma == ", " else "{}"
