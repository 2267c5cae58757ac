"""Diagnosis of aggregations, by Open vSwitch's database and LACP partners.  Pure.

What the controller tells is what `/v1/bridges/{dpid}/lags` answers.  A member that stands by is as
it should be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ofapp.host_setup.finding import Finding
from ofapp.host_setup.lagfile import advice
from ofapp.host_setup.state import Bridge, BridgePort, Host, Lag

Json = Mapping[str, Any]
STANDARD = "IEEE 802.1AX"


def aggregations(host: Host, bridge: Bridge, lags: Sequence[Json]) -> Iterator[Finding]:
    """Findings of one bridge and of the aggregations that its controller has there."""
    for port in bridge.ports:
        if port.bond is not None:
            yield from _own_bond(bridge, port, lags)
        elif any(lag["name"] == port.name for lag in lags):
            yield Finding(
                port.name,
                f"is a port of {bridge.name} and carries no traffic: aggregation {port.name} has"
                " its name",
                "give the aggregation another name under lags: in the controller's file; then:"
                " ofapp config reload",
            )
    for lag in lags:
        for member in lag["members"]:
            yield from _presence(host, bridge, lag, member)
            yield from _cut(bridge, lag, member)
            yield from _swallowed(bridge, lag, member)
        yield from _alike(host, bridge, lag)
        if lag["lacp"] != "off":
            yield from _partners(lag)
            for member in lag["members"]:
                yield from _half_up(lag, member)
        yield from _down(lag)


def _own_bond(bridge: Bridge, port: BridgePort, lags: Sequence[Json]) -> Iterator[Finding]:
    """A bond of Open vSwitch's is one port for NORMAL alone."""
    assert port.bond is not None
    if any({one["name"] for one in lag["members"]} >= set(port.bond.members) for lag in lags):
        return
    lag = Lag(bridge.name, port.name, port.bond.members, "off")
    yield Finding(
        port.name,
        f"is a bond of Open vSwitch ({' and '.join(port.bond.members)}) that the controller does"
        " not know as one port: floods come back by its other members, and addresses flap",
        f"write into the controller's file: {advice(lag)}; then: ofapp config reload",
    )


def _presence(host: Host, bridge: Bridge, lag: Json, member: Json) -> Iterator[Finding]:
    if member["number"] is not None:
        return
    name = member["name"]
    if host.link(name) is not None:
        fix = f"ovs-vsctl add-port {bridge.name} {name}"
    else:
        taken = {one["name"] for one in lag["members"]}
        free = [port.name for port in bridge.ports if port.name not in taken]
        fix = f"see how it is written; other ports of {bridge.name}: {', '.join(free) or 'none'}"
    yield Finding(
        name, f"is a member of {lag['name']} and no port of {bridge.name}", fix, fatal=False
    )


def _cut(bridge: Bridge, lag: Json, member: Json) -> Iterator[Finding]:
    """A member without a link; of a bond of Open vSwitch's, one that its LACP has not enabled."""
    if member["number"] is None or member["link"]:
        return
    name = member["name"]
    problem, fix = "has no link", f"see its cable and its far end: ethtool {name}"
    port = bridge.port_of(name)
    if port is not None and port.lacp not in {None, "off"}:
        problem, fix = "has no link, or Open vSwitch's LACP no partner", "ovs-appctl lacp/show"
    used = sum(one["distributing"] for one in lag["members"])
    yield Finding(
        lag["name"],
        f"{name} {problem}: {used} of its {len(lag['members'])} members carry its frames",
        fix,
        fatal=False,
    )


def _swallowed(bridge: Bridge, lag: Json, member: Json) -> Iterator[Finding]:
    """Open vSwitch takes LACPDUs of a Port that has `lacp` before any table sees them."""
    port = bridge.port_of(member["name"])
    if port is None or port.lacp in {None, "off"} or lag["lacp"] == "off":
        return
    yield Finding(
        port.name,
        f"Open vSwitch runs LACP on it (lacp={port.lacp}), so that the controller, which is to run"
        f" it on {lag['name']}, hears none",
        f"ovs-vsctl set port {port.name} lacp=off, or {lag['name']}: {{lacp: off}} in the file",
    )


class _Speed(NamedTuple):
    """The speed of a member.  source: where it is known from."""

    name: str
    mbps: int
    half_duplex: bool
    source: str


def _speed(host: Host, bridge: Bridge, name: str) -> _Speed | None:
    """The speed of a member, by ethtool or else by Open vSwitch; None if it is not known."""
    link = host.link(name)
    if link is not None and link.speed_mbps is not None:
        return _Speed(name, link.speed_mbps, link.half_duplex, "ethtool")
    port = bridge.port_of(name)
    end = None if port is None else port.end(name)
    if end is None or end.speed is None:
        return None
    return _Speed(name, end.speed // 1_000_000, end.half_duplex, "Open vSwitch")


def _alike(host: Host, bridge: Bridge, lag: Json) -> Iterator[Finding]:
    """Members of other speed than most, and with half duplex, are not used together with LACP."""
    found = [_speed(host, bridge, member["name"]) for member in lag["members"]]
    known = [speed for speed in found if speed is not None]
    for each in known:
        if each.half_duplex:
            yield Finding(
                each.name,
                f"has half duplex (by {each.source}), and {STANDARD} aggregates full duplex links"
                " alone",
                f"have both ends negotiate: ethtool -s {each.name} autoneg on",
                fatal=False,
            )
    speeds = Counter(each.mbps for each in known)
    if len(speeds) < 2:
        return
    usual = max(speeds, key=lambda speed: (speeds[speed], speed))
    for each in known:
        if each.mbps != usual:
            yield Finding(
                each.name,
                f"has {each.mbps} Mbit/s (by {each.source}) and other members of {lag['name']}"
                f" {usual}: links of one speed alone are used together",
                f"see its cable and its far end: ethtool {each.name}",
                fatal=False,
            )


def _partners(lag: Json) -> Iterator[Finding]:
    """Members whose partner is not the one that most have."""
    heard = [(one, one["partner"]) for one in lag["members"] if _hears(one)]
    systems = Counter(partner["system"] for _, partner in heard)
    if not systems:
        return
    system = systems.most_common(1)[0][0]
    keys = Counter(partner["key"] for _, partner in heard if partner["system"] == system)
    key = keys.most_common(1)[0][0]
    for member, partner in heard:
        if partner["system"] != system:
            yield Finding(
                member["name"],
                f"is plugged into another system ({partner['system']}) than most of {lag['name']}"
                f" ({system})",
                "plug it in there too; two switches must present one system to be one partner",
            )
        elif partner["key"] != key:
            yield Finding(
                member["name"],
                f"the partner has it in another aggregation (key {partner['key']}) than most of"
                f" {lag['name']} (key {key})",
                f"put it into the same aggregation there (port {partner['port']} of {system})",
            )


def _half_up(lag: Json, member: Json) -> Iterator[Finding]:
    """A link that is up, and on which LACP has not come to an end."""
    name, partner = member["name"], member["partner"]
    if not member["link"] or member["state"] == "standby":
        return
    if not _hears(member):
        other = f"{lag['name']}: {{lacp: off}} where there is none"
        if lag["lacp"] == "passive":
            other = f"{lag['name']}: {{lacp: active}}: two that are passive wait for each other"
        yield Finding(
            name,
            f"its link is up and there is no LACP partner ({lag['name']} is {lag['lacp']})",
            f"turn LACP on at its far end, or in the file {other}",
        )
    elif {"defaulted", "expired"} & set(partner["state"]):
        yield Finding(
            name,
            "the partner is heard, and does not hear us: frames pass one way alone",
            "see its cable, and what drops 01:80:c2:00:00:02 on the way",
        )
    elif "synchronization" not in partner["state"]:
        yield Finding(
            name,
            f"the partner does not take it into use ({member['reason'] or member['state']})",
            "see there why: another key or speed, fewer links than it wants, or it stands by",
            fatal=False,
        )


def _down(lag: Json) -> Iterator[Finding]:
    if lag["up"]:
        return
    used = sum(one["distributing"] for one in lag["members"])
    yield Finding(
        lag["name"],
        f"is down: {used} of its {len(lag['members'])} members are in use, and it wants"
        f" {lag['min_links']}",
        f"see why: ofapp lag show {lag['name']}",
    )


def _hears(member: Json) -> bool:
    """Whether the state of its partner was heard from it."""
    return member["partner"] is not None and not (
        {"defaulted", "expired"} & set(member["actor"]["state"])
    )
