"""Flows of Open vSwitch as access lists, where they say no more than drop or NORMAL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ofapp.migrate.acls import put_acl
from ofapp.migrate.command import Answer
from ofapp.migrate.draft import Draft, Path
from ofapp.migrate.ovsdb import Flow, flows
from ofapp.migrate.setting import Setting

PROTOCOLS: Mapping[str, Mapping[str, str]] = {
    "ip": {"eth_type": "ipv4"},
    "ipv6": {"eth_type": "ipv6"},
    "arp": {"eth_type": "arp"},
    "rarp": {"eth_type": "rarp"},
    "icmp": {"eth_type": "ipv4", "ip_proto": "icmp"},
    "icmp6": {"eth_type": "ipv6", "ip_proto": "icmpv6"},
    **{
        name + version: {"eth_type": ether, "ip_proto": name}
        for name in ("tcp", "udp", "sctp")
        for version, ether in (("", "ipv4"), ("6", "ipv6"))
    },
}
"""Abbreviations of ovs-fields(7)."""

FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("dl_src", "eth_src"), "eth_src"),
    **dict.fromkeys(("dl_dst", "eth_dst"), "eth_dst"),
    **dict.fromkeys(("dl_type", "eth_type"), "eth_type"),
    **dict.fromkeys(("nw_proto", "ip_proto"), "ip_proto"),
    **dict.fromkeys(("nw_src", "ip_src", "ipv6_src"), "ip_src"),
    **dict.fromkeys(("nw_dst", "ip_dst", "ipv6_dst"), "ip_dst"),
    **{name: name for name in ("arp_spa", "arp_tpa", "arp_sha", "arp_tha", "arp_op")},
    **{name: name for name in ("icmp_type", "icmp_code", "ip_dscp")},
    **{
        f"{proto}_{way}": f"{proto}_{way}"
        for proto in ("tcp", "udp", "sctp")
        for way in ("src", "dst")
    },
}
"""Fields that ofapp matches, too, by their names in flows."""

_NUMBERS = {"eth_type", "ip_proto", "arp_op", "icmp_type", "icmp_code", "ip_dscp"}
_NORMAL = "its effect is NORMAL's, which the bridge itself has"
_UNKNOWN_LIST = "another flow of the port has no equivalent, so the port gets no access list"


class UntranslatableError(Exception):
    """A flow that is no rule of an access list; the reason."""


def translate_flows(draft: Draft, bridge: Path, given: Answer, ports: Sequence[str]) -> None:
    """Make access lists of a bridge's flows; ImportFault."""
    known = flows(given)
    settings = {flow: Setting(f"{given.where}:{flow.line}", "flow", flow.text) for flow in known}
    if _is_normal_only(known):
        for setting in settings.values():
            draft.ignore(setting, _NORMAL)
        return
    named = {port for flow in known if (port := flow.fields.get("in_port"))}
    everywhere = [flow for flow in known if "in_port" not in flow.fields and flow.fields]
    lists: dict[str, str] = {}
    done: set[Flow] = set()
    for port in ports if everywhere or not _default(known) else sorted(named & {*ports}):
        done |= _port(draft, bridge, port, known, settings, lists)
    for flow in known:
        if flow not in done:
            draft.lose(settings[flow], _reason(flow, ports))


def _is_normal_only(known: Sequence[Flow]) -> bool:
    return all(flow.actions == "NORMAL" for flow in known)


def _default(known: Iterable[Flow]) -> bool:
    """Whether frames that no other flow matches are forwarded."""
    return any(not flow.fields and flow.actions == "NORMAL" for flow in known)


def _reason(flow: Flow, ports: Sequence[str]) -> str:
    port = flow.fields.get("in_port")
    if port is not None and port not in ports:
        return "no port of the bridge has this name or number"
    try:
        rule_of(flow)
    except UntranslatableError as error:
        return str(error)
    return _UNKNOWN_LIST


def _port(
    draft: Draft,
    bridge: Path,
    port: str,
    known: Sequence[Flow],
    settings: Mapping[Flow, Setting],
    lists: dict[str, str],
) -> set[Flow]:
    """Write the list of one port; the flows that are in it."""
    own = [flow for flow in known if not flow.table and flow.fields.get("in_port", port) == port]
    if not own:
        return set()
    own.sort(key=lambda flow: -flow.priority)
    try:
        rules = [rule_of(flow) for flow in own]
    except UntranslatableError:
        return set()
    first = next((settings[flow] for flow in own if flow.fields), settings[own[0]])
    name = lists.setdefault(repr(rules), f"flows-{port}")
    if not draft.has((*bridge, "acls", name)) and not put_acl(draft, bridge, name, rules, first):
        return set(own)
    draft.put((*bridge, "ports", port, "acl"), name, first)
    return set(own)


def rule_of(flow: Flow) -> dict[str, Any]:
    """The rule that does the same.  Raises UntranslatableError."""
    if flow.table:
        raise UntranslatableError(f"table {flow.table}: access lists are not chained")
    if flow.actions not in ("drop", "NORMAL"):
        what = "ofapp has no actions beside drop and allow: see `mirrors`, `vlan` and `lags`"
        raise UntranslatableError(what)
    match: dict[str, Any] = {}
    for key, value in flow.fields.items():
        match |= {} if key == "in_port" else _field(key, value, flow.fields)
    action = "drop" if flow.actions == "drop" else "allow"
    return {"match": match, "action": action} if match else {"action": action}


def _field(key: str, value: str, others: Mapping[str, str]) -> dict[str, Any]:
    if key in PROTOCOLS:
        return dict(PROTOCOLS[key])
    if key in ("tp_src", "tp_dst"):
        protocol = next((p for p in ("tcp", "udp", "sctp") if {p, f"{p}6"} & {*others}), None)
        if protocol is not None:
            return {f"{protocol}{key[2:]}": _number(value)}
    if key == "nw_tos":
        return {"ip_dscp": int(_number(value)) >> 2}
    if key not in FIELDS:
        raise UntranslatableError(f"access lists do not match {key}")
    name = FIELDS[key]
    if name in _NUMBERS or name[:-4] in ("tcp", "udp", "sctp"):
        return {name: _number(value)}
    return {name: value}


def _number(value: str) -> int:
    try:
        return int(value, 0)
    except ValueError:
        raise UntranslatableError(f"access lists do not match {value} here") from None
