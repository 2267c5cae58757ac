"""/v1/bridges/{dpid}/acls: access lists and the counters of their rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import BridgePath, NoQuery, PortRef
from ofapp.api.lookup import by_number, find_bridge, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, resource
from ofapp.api.responses import answer, utc
from ofapp.api.roles import viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import AclCounters
from ofapp.bridge.params import policy
from ofapp.bridge.params.acl import IMPLICIT
from ofapp.controller.network import Network

TAG = Tag(name="acls", description="Access lists.")

_AFTER_ALL = policy.AclRule(IMPLICIT, allow=False)


class AclRule(BaseModel):
    """A rule and its counters.  The last rule of each list is the implicit drop."""

    name: str
    match: str = Field(
        description="as in the configuration file",
        json_schema_extra={"example": "vlan=lab tcp_dst=80,443"},
    )
    action: Literal["allow", "drop"]
    mirror: PortRef | None = Field(description="port that gets a copy")
    dscp: int | None = Field(description="DSCP that packets get which pass; null: as they came")
    pcp: int | None = Field(description="PCP that tags of frames get which pass; null: as it came")
    rate: int | None = Field(description="frames a second that pass; others are dropped")
    packets: int | None = Field(
        description="frames it decided on; null for a list that no port has, and before the switch"
        " has connected"
    )
    bytes: int | None
    over_rate: int | None = Field(description="of these, frames dropped for exceeding the rate")
    since: str | None = Field(
        description="UTC, when the counters started", json_schema_extra={"format": "date-time"}
    )


class Acl(BaseModel):
    """An access list: the first rule that matches decides."""

    name: str
    ports: list[PortRef] = Field(description="existing ports that use it")
    rules: list[AclRule]


class AclList(BaseModel):
    """All access lists of a bridge."""

    acls: list[Acl]
    first_zone: int | None = Field(
        description="connection tracking zone of untagged frames, to which the VID of tagged frames"
        " is added; null without rules with states"
    )
    metered: bool | None = Field(
        description="whether the switch has meters; without them no rate is enforced; null while it"
        " is disconnected"
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("acls", TAG, "/v1/bridges/<dpid>/acls")

    @api.get("", responses={200: AclList, **documented(404, 409)})
    @viewer
    def acls(path: BridgePath, query: NoQuery) -> Response:
        """A bridge's access lists, by name, with the present counters.

        The switch keeps the counters: they continue while the controller is disconnected, and
        restart at 0 when the switch restarts.
        """
        bridge = find_bridge(network, path.dpid)
        datapath = network.datapaths.get(bridge.datapath_id)
        if datapath is not None:
            datapath.ask_acl_counters()
        status = None if datapath is None else datapath.status()
        counters = None if status is None else status.acl
        lists = sorted(bridge.params.policies.acls.items())
        return answer(
            AclList(
                acls=[_acl(bridge, name, rules, counters) for name, rules in lists],
                first_zone=bridge.first_zone if bridge.tracks_connections else None,
                metered=None if status is None else status.metered,
            )
        )

    return api


def _acl(
    bridge: Bridge, name: str, rules: Sequence[policy.AclRule], counters: AclCounters | None
) -> Acl:
    users = [
        port
        for port in by_number(bridge)
        if bridge.params.port(port.name, port.number).policy.acl == name
    ]
    return Acl(
        name=name,
        ports=[port_ref(bridge, port.number) for port in users],
        rules=[_rule(bridge, name, rule, counters) for rule in (*rules, _AFTER_ALL)],
    )


def _rule(bridge: Bridge, name: str, rule: policy.AclRule, counters: AclCounters | None) -> AclRule:
    count = None if counters is None else counters.matched(name, rule.name)
    over = 0 if counters is None else counters.over_rate(name, rule.name)
    return AclRule(
        name=rule.name,
        match=rule.about,
        action="allow" if rule.allow else "drop",
        mirror=None if rule.mirror is None else _mirror(bridge, rule.mirror),
        dscp=rule.dscp,
        pcp=rule.pcp,
        rate=rule.rate,
        packets=None if count is None else count.packets,
        bytes=None if count is None else count.octets,
        over_rate=None if count is None else over,
        since=None if count is None else utc(count.since),
    )


def _mirror(bridge: Bridge, name: str) -> PortRef:
    port = bridge.ports.named(name)
    return PortRef(number=None if port is None else port.number, name=name)
