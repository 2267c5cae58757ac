"""Merge lists of several members to one, in the order of one member's list.

The answer of a bridge's owner counts; what others still know of the bridge is left out.  Each
function takes the answers by member, and a function that finds the owner of a datapath id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from flask import request

from ofapp.api.base import PAGE
from ofapp.api.pagination import EVERY_VLAN, START, decode_cursor, encode_cursor
from ofapp.api.resources.history import MOST as MOST_LOADS
from ofapp.api.resources.hosts.search import MOST
from ofapp.bridge.event import Severity
from ofapp.bridge.mac import parse_mac
from ofapp.controller.topology import Surroundings

Answers = Mapping[str, dict[str, Any]]
Claimed = Callable[[str], str | None]
Place = tuple[int, tuple[int, int]]
T = TypeVar("T")

END: Place = (1 << 64, START)
MOST_EVENTS = 1000


def merge_bridges(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `BridgeList`s."""
    reported = {member: answer["bridges"] for member, answer in answers.items()}
    bridges = _believed(
        reported, claimed, lambda bridge: (bridge["datapath_id"], bridge["connected"])
    )
    return {"bridges": [bridges[datapath_id] for datapath_id in sorted(bridges)]}


def merge_fabrics(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `FabricList`s: the owner of a fabric's bridge knows the fabric."""
    reported = {member: answer["fabrics"] for member, answer in answers.items()}
    fabrics = _believed(
        reported, claimed, lambda fabric: (fabric["datapath_id"], fabric["connected"])
    )
    return {"fabrics": sorted(fabrics.values(), key=lambda fabric: str(fabric["name"]))}


def merge_forgotten(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `Forgotten`s."""
    del claimed  # removed bridges have no owner
    names = {name for answer in answers.values() for name in answer["forgotten"]}
    return {"forgotten": sorted(names)}


def merge_around(
    reported: Mapping[str, Sequence[Surroundings]], claimed: Claimed
) -> dict[str, Surroundings]:
    """Merge the surroundings of bridges, by datapath id."""
    return _believed(
        reported, claimed, lambda bridge: (f"{bridge.datapath_id:016x}", bridge.connected)
    )


def _believed(
    reported: Mapping[str, Iterable[T]], claimed: Claimed, about: Callable[[T], tuple[str, bool]]
) -> dict[str, T]:
    """Select each bridge's owner's answer; without an owner, that of a member with its switch.

    about: gives a bridge's datapath id, and whether its switch is connected.
    """
    selected: dict[str, T] = {}
    for member, bridges in sorted(reported.items()):
        for bridge in bridges:
            datapath_id, connected = about(bridge)
            if claimed(datapath_id) in (None, member):
                before = selected.get(datapath_id)
                if before is None or (connected and not about(before)[1]):
                    selected[datapath_id] = bridge
    return selected


def merge_entries(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `BridgeEntryPage`s.  The page ends where the first of the members' pages ends."""
    limit = int(request.args.get("limit", PAGE))
    ends = [decode_cursor(answer["next"]) for answer in answers.values() if answer["next"]]
    end = min(ends, default=END)
    merged: dict[Place, dict[str, Any]] = {}
    for member, answer in sorted(answers.items()):
        for entry in answer["entries"]:
            at = place(entry)
            if at <= end and claimed(entry["datapath_id"]) in (None, member):
                merged.setdefault(at, entry)
    places = sorted(merged)
    if len(places) > limit:
        places = places[:limit]
        end = places[-1]
    cursor = None if end == END else encode_cursor(*end)
    return {"entries": [merged[at] for at in places], "next": cursor}


def merge_hosts(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `HostPage`s.  The page ends where the first of the members' pages ends."""
    limit = int(request.args.get("limit", PAGE))
    end = min((answer["next"] for answer in answers.values() if answer["next"]), default=None)
    merged: dict[str, dict[str, Any]] = {}
    for member, answer in sorted(answers.items()):
        for host in answer["hosts"]:
            mac, own = host["mac"].replace(":", ""), host["datapath_id"]
            if (end is None or mac <= end) and (own is None or claimed(own) in (None, member)):
                known = merged.get(mac)
                merged[mac] = host if known is None else _merged_host(known, host)
    macs = sorted(merged)
    if len(macs) > limit:
        macs = macs[:limit]
        end = macs[-1]
    return {"hosts": [merged[mac] for mac in macs], "next": end}


def _merged_host(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One host of two members' answers: where it was seen last, with the names that both know."""
    newest, older = sorted((one, other), key=_last_seen, reverse=True)
    first = min(filter(None, (one["first_seen"], other["first_seen"])), default=None)
    names = newest["names"] + [name for name in older["names"] if name not in newest["names"]]
    names.sort(key=lambda name: name["source"] != "label")
    return {**newest, "first_seen": first, "names": names}


def _last_seen(host: Mapping[str, Any]) -> tuple[bool, str]:
    return host["present"], host["last_seen"] or ""


def merge_found(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `Found`s."""
    kinds = ("bridges", "ports", "neighbours")
    merged: dict[str, dict[Any, dict[str, Any]]] = {kind: {} for kind in (*kinds, "hosts")}
    for member, answer in sorted(answers.items()):
        for kind in kinds:
            for item in answer[kind]:
                if claimed(item["datapath_id"]) in (None, member):
                    merged[kind].setdefault(neighbour_key(item), item)
        for host in answer["hosts"]:
            known = merged["hosts"].setdefault((host["vlan"], host["mac"]), host)
            addresses = [*known.get("addresses", []), *host.get("addresses", [])]
            known["addresses"] = list(dict.fromkeys(addresses))  # an older member sends none
    more = any(answer["more"] for answer in answers.values())
    lists = {kind: [items[key] for key in sorted(items)] for kind, items in merged.items()}
    more = more or any(len(items) > MOST for items in lists.values())
    return {kind: items[:MOST] for kind, items in lists.items()} | {"more": more}


def neighbour_key(item: Mapping[str, Any]) -> tuple[Any, ...]:
    """The identity of a bridge, a port or a neighbour."""
    who = item.get("chassis_id"), item.get("port_id") or ""
    return item["datapath_id"], item.get("port", {}).get("number"), *who


def merge_events(answers: Answers, member: str) -> dict[str, Any]:
    """Merge `EventList`s in the order of time, by each member's own clock; keeps the latest.

    own: the member that has numbered `last`.
    """
    events = [event for answer in answers.values() for event in answer["events"]]
    events.sort(key=lambda event: (event["time"], event["member"], event["number"]))
    missed = any(answer["missed"] for answer in answers.values()) or len(events) > MOST_EVENTS
    return {"events": events[-MOST_EVENTS:], "last": answers[member]["last"], "missed": missed}


def merge_problems(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `ProblemList`s: those of bridges by the owners, those of controllers by all."""
    problems = [
        {**problem, "member": member}
        for member, answer in sorted(answers.items())
        for problem in answer["problems"]
        if problem["datapath_id"] is None or claimed(problem["datapath_id"]) in (None, member)
    ]
    problems.sort(key=lambda one: (-Severity(one["severity"]).rank, one["since"], one["id"]))
    return {"problems": problems, "left_out": sum(one["left_out"] for one in answers.values())}


def merge_loads(answers: Answers, claimed: Claimed) -> dict[str, Any]:
    """Merge `LoadList`s, the busiest first: the owner of a bridge knows its ports."""
    loads = [
        load
        for member, answer in answers.items()
        for load in answer["loads"]
        if claimed(load["datapath_id"]) in (None, member)
    ]
    loads.sort(key=lambda load: max(load["rx_bytes"], load["tx_bytes"]), reverse=True)
    return {"loads": loads[:MOST_LOADS]}


def place(entry: Mapping[str, Any]) -> Place:
    """Sort key of an entry in pages: (datapath id, (VID, address))."""
    vlan = EVERY_VLAN if entry["vlan"] is None else int(entry["vlan"])
    return int(entry["datapath_id"], 16), (vlan, parse_mac(entry["mac"]))
