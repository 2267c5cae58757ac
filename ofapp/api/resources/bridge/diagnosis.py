"""/v1/bridges/{dpid}/diagnosis: why a host has no network."""

from __future__ import annotations

import time
from collections import Counter

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import BridgePath, DatapathId, Input
from ofapp.api.lookup import find_bridge
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, resource
from ofapp.api.responses import answer
from ofapp.api.roles import viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.diagnosis import AclDrops, Reason, Subject, diagnose, subjects
from ofapp.bridge.fabric.status import LinkState
from ofapp.bridge.mac import format_mac
from ofapp.bridge.params.acl import IMPLICIT
from ofapp.bridge.queries import ip_addresses
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.network import Network

TAG = Tag(name="diagnosis", description="Diagnose why a host has no network.")


class DiagnosisQuery(Input):
    """The host to diagnose."""

    host: str = Field(
        min_length=1,
        max_length=64,
        description="a port's name, a MAC address or an IP address",
        json_schema_extra={"example": "vnet0"},
    )


class Diagnosis(BaseModel):
    """A host at a port, and why it has no network."""

    port: str = Field(description="the port's name, which may be absent")
    vlan: int | None = Field(description="VID, 0 = untagged; null for a port without known hosts")
    mac: str | None = Field(description="null for a port without known hosts, or with many")
    addresses: list[str] = Field(description="IP addresses that it may use, or used last")
    problem: str | None = Field(
        description="the reason in one sentence; null if the bridge blocks nothing"
    )
    fix: str | None = Field(description="what to do about it")


class Diagnoses(BaseModel):
    """The hosts that fit, empty where the bridge knows none."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    hosts: list[Diagnosis]


def blueprint(network: Network) -> APIBlueprint:
    """The route on a network."""
    api = resource("diagnosis", TAG, "/v1/bridges/<dpid>/diagnosis")

    @api.get("", responses={200: Diagnoses, **documented(404, 409)})
    @viewer
    def show(path: BridgePath, query: DiagnosisQuery) -> Response:
        """Why a host has no network, as far as the bridge knows.

        The host is named by its port, its MAC address or an IP address.  There is one answer for
        each port and VLAN where it was heard; a port with many hosts is answered alone.
        """
        bridge = find_bridge(network, path.dpid)
        datapath = network.datapaths.get(bridge.datapath_id)
        asked = subjects(bridge, query.host)
        drops = _drops(bridge, datapath) if asked and datapath is not None else {}
        hosts = []
        for subject in asked:
            reason = diagnose(bridge, subject, drops, time.monotonic())
            reason = reason or _cut_off(network, bridge, subject.port)
            hosts.append(_view(bridge, subject, reason or _away(bridge, datapath)))
        dpid = f"{bridge.datapath_id:016x}"
        return answer(Diagnoses(datapath_id=dpid, bridge=bridge.name, hosts=hosts))

    return api


def _view(bridge: Bridge, subject: Subject, reason: Reason | None) -> Diagnosis:
    known = subject.mac is not None and subject.vid is not None
    return Diagnosis(
        port=subject.port,
        vlan=subject.vid,
        mac=None if subject.mac is None else format_mac(subject.mac),
        addresses=ip_addresses(bridge, subject.vid or 0, subject.mac or 0) if known else [],
        problem=None if reason is None else reason.problem,
        fix=None if reason is None else reason.fix,
    )


def _cut_off(network: Network, bridge: Bridge, port: str) -> Reason | None:
    """Whether no link leads from the member of a fabric that has the port to another member."""
    fabric = next((each for each in network.fabrics.values() if each.bridge is bridge), None)
    member, has_member, _ = port.partition("/")
    if fabric is None or not has_member:
        return None
    status = fabric.status(time.monotonic())
    links = [
        each
        for each in status.links
        if any(end and end.startswith(f"{member}/") for end in (each.one, each.other))
    ]
    if len(status.members) < 2 or any(each.state is LinkState.CARRIES for each in links):
        return None
    why = f": {links[0].one}: {links[0].reason}" if links else ""
    return Reason(
        f"no link from member {member} to another member of {status.name} is known to carry"
        f" frames{why}",
        f"see the links: ofapp fabric show {status.name}",
    )


def _away(bridge: Bridge, datapath: Datapath | None) -> Reason | None:
    """Whether the controller does not manage the switch: it may forward otherwise."""
    if datapath is None:
        return Reason(
            f"the switch of {bridge.name} is not connected to the controller, so new hosts are not"
            " learned there",
            "see that ovs-vswitchd runs, and ovs-vsctl get-controller; ofapp doctor",
        )
    if not datapath.in_line:
        return Reason(
            f"the switch of {bridge.name} does not have all its flows yet",
            "ofapp doctor, and ofapp events",
        )
    return None


def _drops(bridge: Bridge, datapath: Datapath) -> dict[str, AclDrops]:
    """Count the frames that each access list has dropped."""
    datapath.ask_acl_counters()
    counters, drops = datapath.status().acl, {}
    for name, rules in bridge.params.policies.acls.items():
        frames: Counter[str] = Counter()
        for rule in (*(listed.name for listed in rules if not listed.allow), IMPLICIT):
            count = counters.matched(name, rule)
            frames[rule] += 0 if count is None else count.packets
        for entry in rules:
            frames[entry.name] += (
                counters.over_rate(name, entry.name) if entry.rate is not None else 0
            )
        ((most, _),) = frames.most_common(1)
        drops[name] = AclDrops(frames.total(), most)
    return drops
