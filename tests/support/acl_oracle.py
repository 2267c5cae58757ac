"""What an access list means, said once more and in another way, and rules and frames to try it on.

The oracle reads a rule as the file has it and looks into the frame for each field by itself; it
knows nothing of flows, masks or prerequisites.  Values come from small pools, so that rules and
frames meet.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

from hypothesis import strategies as st

from ofapp.config.acl import AclRuleSettings, acl_params
from ofapp.config.base import FaultsError

Settings = dict[str, Any]

LATER = 2
_MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:01:02", "ff:ff:ff:ff:ff:ff")
_IPV4 = ("10.0.0.1", "10.0.0.2", "10.0.1.1", "192.168.7.9")
_IPV6 = ("fd00::1", "fd00::2", "fd00:1::1")
_PORTS = (0, 53, 80, 443, 1024, 8007, 65535)
_USUAL = (0, 80, 443, 8007)
_ICMP = {"echo-request": (8, 128), "echo-reply": (0, 129), "time-exceeded": (11, 3)}
_PROTOS = {"icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "icmpv6": 58, "sctp": 132}
_ETH_TYPES = {"ipv4": 0x0800, "ipv6": 0x86DD, "arp": 0x0806, "lldp": 0x88CC}


@dataclass(frozen=True)
class Frame:
    """vid None: no tag; fragment: 0 whole, 1 the first, 2 a later one; flags: TCP's."""

    src: str
    dst: str
    eth_type: int
    vid: int | None = None
    pcp: int = 0
    ip: tuple[str, str] | None = None
    proto: int = 0
    dscp: int = 0
    fragment: int = 0
    ports: tuple[int, int] = (0, 0)
    flags: int = 0
    icmp: tuple[int, int] = (0, 0)
    arp: tuple[int, str, str] = (0, "0.0.0.0", "0.0.0.0")

    def data(self) -> bytes:
        """As it is on the wire, at least 60 bytes."""
        tag = b""
        if self.vid is not None:
            tag = struct.pack("!HH", 0x8100, self.pcp << 13 | self.vid)
        head = _mac(self.dst) + _mac(self.src) + tag + struct.pack("!H", self.eth_type)
        return (head + self._body()).ljust(60, b"\0")

    def _body(self) -> bytes:
        if self.eth_type == 0x0806:
            op, spa, tpa = self.arp
            fixed = struct.pack("!HHBBH", 1, 0x0800, 6, 4, op)
            own, other = IPv4Address(spa).packed, IPv4Address(tpa).packed
            return fixed + _mac(self.src) + own + bytes(6) + other
        if self.ip is None:
            return b"\0" * 46
        source, target = (ip_address(address).packed for address in self.ip)
        payload = self._transport()
        if self.eth_type == 0x0800:
            where = {0: 0, 1: 0x2000, LATER: 0x0010}[self.fragment]
            head = struct.pack(
                "!BBHHHBBH", 0x45, self.dscp << 2, 20 + len(payload), 1, where, 64, self.proto, 0
            )
            return head + source + target + payload
        proto = self.proto
        if self.fragment:
            where = {1: 0x0001, LATER: 0x0080}[self.fragment]
            payload = struct.pack("!BBHI", proto, 0, where, 1) + payload
            proto = 44
        head = struct.pack("!IHBB", 6 << 28 | self.dscp << 22, len(payload), proto, 64)
        return head + source + target + payload

    def _transport(self) -> bytes:
        if self.fragment == LATER:
            return b"\xff" * 24
        if self.proto == 6:
            return struct.pack("!HHIIBBHHH", *self.ports, 1, 1, 5 << 4, self.flags, 100, 0, 0)
        if self.proto == 17:
            return struct.pack("!HHHH", *self.ports, 16, 0) + bytes(8)
        if self.proto == 132:
            return struct.pack("!HHII", *self.ports, 0, 0) + bytes(8)
        return struct.pack("!BBH", *self.icmp, 0) + bytes(20)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def decide(rules: list[Settings], frame: Frame) -> int | None:
    """The position of the rule that decides; None for what comes after the last."""
    for position, rule in enumerate(rules):
        if all(_fits(name, value, frame) for name, value in rule.get("match", {}).items()):
            return position
    return None


def _fits(name: str, value: Any, frame: Frame) -> bool:
    match name:
        case "eth_src" | "eth_dst":
            return _mac_fits(value, frame.src if name == "eth_src" else frame.dst)
        case "vlan":
            return (frame.vid or 0) == value
        case "vlan_pcp":
            return frame.vid is not None and frame.pcp == value
        case "eth_type":
            return frame.eth_type == _ETH_TYPES[value]
        case "arp_op" | "arp_spa" | "arp_tpa" | "arp_sha":
            return frame.eth_type == 0x0806 and _arp_fits(name, value, frame)
        case _ if frame.ip is None:
            return False
        case "ip_src" | "ip_dst":
            address = ip_address(frame.ip[name == "ip_dst"])
            return address in ip_network(value)
        case "ip_dscp":
            return frame.dscp == value
        case "fragment":
            return frame.fragment != 0
        case "ip_proto":
            protocol = 44 if frame.eth_type == 0x86DD and frame.fragment == LATER else frame.proto
            return protocol == _PROTOS[value] and (
                value not in ("icmp", "icmpv6") or (value == "icmp") == (frame.eth_type == 0x0800)
            )
    return not frame.fragment and _transport_fits(name, value, frame)


def _arp_fits(name: str, value: Any, frame: Frame) -> bool:
    op, spa, tpa = frame.arp
    match name:
        case "arp_op":
            return op == {"request": 1, "reply": 2}[value]
        case "arp_spa":
            return IPv4Address(spa) in ip_network(value)
        case "arp_tpa":
            return IPv4Address(tpa) in ip_network(value)
    return _mac_fits(value, frame.src)


def _transport_fits(name: str, value: Any, frame: Frame) -> bool:
    if name == "tcp_established":
        return frame.proto == 6 and bool(frame.flags & 0x14)
    if name.startswith("icmp"):
        six = frame.eth_type == 0x86DD
        if frame.proto != (58 if six else 1):
            return False
        return frame.icmp[0] == _ICMP[value][six] if name == "icmp_type" else frame.icmp[1] == value
    proto, _, side = name.partition("_")
    port = frame.ports[side == "dst"]
    return frame.proto == _PROTOS[proto] and any(
        int(part.partition("-")[0]) <= port <= int(part.rpartition("-")[2])
        for part in str(value).split(",")
    )


def _mac_fits(pattern: str, address: str) -> bool:
    wanted, _, mask = pattern.partition("/")
    bits = int.from_bytes(_mac(mask or "ff:ff:ff:ff:ff:ff"), "big")
    return not (int.from_bytes(_mac(wanted)) ^ int.from_bytes(_mac(address))) & bits


def reachable(rules: list[Settings]) -> list[Settings]:
    """Without those that the configuration refuses, because no frame gets to them."""
    while True:
        try:
            acl_params({"a": tuple(map(AclRuleSettings.model_validate, rules))}, int)
        except FaultsError as error:
            refused = {path[1] for path, _ in error.faults}
            rules = [rule for position, rule in enumerate(rules) if position not in refused]
        else:
            return rules


# What Hypothesis makes

_ports = st.one_of(
    st.sampled_from(_PORTS).map(str),
    st.tuples(st.sampled_from(_PORTS), st.sampled_from(_PORTS)).map(
        lambda ends: f"{min(ends)}-{max(ends)}"
    ),
    st.sampled_from(["80,443", "53,1024-8003", "0-65535"]),
)
_macs = st.sampled_from([*_MACS, "02:00:00:00:00:00/ff:ff:ff:ff:00:00"])
_COMMON = {
    "eth_src": _macs,
    "eth_dst": st.sampled_from([*_MACS, "01:00:00:00:00:00/01:00:00:00:00:00"]),
    "vlan": st.sampled_from([0, 7]),
    "vlan_pcp": st.sampled_from([0, 5]),
}
_V4 = st.sampled_from([*_IPV4, "10.0.0.0/24", "10.0.0.0/8"])
_V6 = st.sampled_from([*_IPV6, "fd00::/32", "fd00::/16"])
_DSCP = {"ip_dscp": st.sampled_from([0, 46])}
_KINDS: dict[str, tuple[Settings, dict[str, st.SearchStrategy[Any]]]] = {
    "vlan": ({"vlan": 7}, {}),
    "ipv4": ({"eth_type": "ipv4"}, {"ip_src": _V4, "ip_dst": _V4, **_DSCP}),
    "ipv6": ({"eth_type": "ipv6"}, {"ip_src": _V6, "ip_dst": _V6, **_DSCP}),
    "from4": ({}, {"ip_src": _V4}),
    "proto": ({}, {"ip_proto": st.sampled_from([*_PROTOS]), **_DSCP}),
    "fragment": ({"fragment": True}, {"ip_dst": st.one_of(_V4, _V6)}),
    "tcp": ({}, {"tcp_src": _ports, "tcp_dst": _ports, "ip_dst": st.one_of(_V4, _V6)}),
    "established": ({"tcp_established": True}, {"tcp_dst": _ports}),
    "udp": ({}, {"udp_src": _ports, "udp_dst": _ports}),
    "sctp": ({}, {"sctp_src": _ports, "sctp_dst": _ports}),
    "icmp": ({}, {"icmp_type": st.sampled_from([*_ICMP])}),
    "icmp-code": ({"icmp_type": "time-exceeded"}, {"icmp_code": st.sampled_from([0, 1])}),
    "arp": (
        {"eth_type": "arp"},
        {
            "arp_op": st.sampled_from(["request", "reply"]),
            "arp_spa": _V4,
            "arp_tpa": _V4,
            "arp_sha": _macs,
        },
    ),
    "lldp": ({"eth_type": "lldp"}, {}),
}


@st.composite
def _rules(draw: st.DrawFn) -> Settings:
    fixed, fields = _KINDS[draw(st.sampled_from([*_KINDS]))]
    match = dict(fixed)
    for name, values in (fields | _COMMON).items():
        if draw(st.integers(0, 19)) < (9 if name in fields else 1):
            match[name] = draw(values)
    if not match:
        match["eth_type"] = draw(st.sampled_from(["ipv4", "ipv6", "arp"]))
    return {"match": match, "action": draw(st.sampled_from(["allow", "drop"]))}


rule_lists = st.lists(_rules(), min_size=4, max_size=12)


@st.composite
def _frames(draw: st.DrawFn) -> Frame:
    common: Settings = {
        "src": draw(st.sampled_from(_MACS[:3])),
        "dst": draw(st.sampled_from(_MACS)),
        "vid": draw(st.sampled_from([None, None, 0, 7, 8])),
        "pcp": draw(st.sampled_from([0, 5])),
    }
    kind = draw(st.sampled_from([0x0800, 0x0800, 0x86DD, 0x86DD, 0x0806, 0x88CC, 0x88B5]))
    if kind == 0x0806:
        pair = st.sampled_from(_IPV4)
        return Frame(**common, eth_type=kind, arp=(draw(st.integers(1, 2)), draw(pair), draw(pair)))
    if kind not in (0x0800, 0x86DD):
        return Frame(**common, eth_type=kind)
    own = st.sampled_from(_IPV4 if kind == 0x0800 else _IPV6)
    proto = draw(st.sampled_from([6, 17, 132, 1 if kind == 0x0800 else 58]))
    named = draw(st.sampled_from([*_ICMP]))
    return Frame(
        **common,
        eth_type=kind,
        ip=(draw(own), draw(own)),
        proto=proto,
        dscp=draw(st.sampled_from([0, 46])),
        fragment=draw(st.sampled_from([0, 0, 0, 1, LATER])),
        ports=(draw(st.sampled_from(_USUAL)), draw(st.sampled_from(_USUAL))),
        flags=draw(st.sampled_from([0x02, 0x10, 0x04, 0x18])),
        icmp=(_ICMP[named][kind == 0x86DD], draw(st.integers(0, 1))),
    )


frames = _frames()


def seen_by_switch(frame: Frame) -> dict[str, int]:
    """The frame's fields by OpenFlow's names, as Open vSwitch extracts them.

    A fragment has ports of 0 whether it has them or not, a later one in IPv6 the protocol 44.
    """
    fields = {
        "eth_src": int.from_bytes(_mac(frame.src)),
        "eth_dst": int.from_bytes(_mac(frame.dst)),
        "eth_type": frame.eth_type,
        "vlan_vid": 0 if frame.vid is None else 0x1000 | frame.vid,
        "vlan_pcp": frame.pcp,
    }
    if frame.eth_type == 0x0806:
        op, spa, tpa = frame.arp
        fields |= {"arp_op": op, "arp_spa": int(IPv4Address(spa)), "arp_tpa": int(IPv4Address(tpa))}
        fields["arp_sha"] = fields["eth_src"]
    if frame.ip is None:
        return fields
    six, later = frame.eth_type == 0x86DD, frame.fragment == LATER
    version = "ipv6" if six else "ipv4"
    fields |= {
        f"{version}_{side}": int(ip_address(address))
        for side, address in zip(("src", "dst"), frame.ip, strict=True)
    }
    fields |= {"ip_dscp": frame.dscp, "ip_frag": {0: 0, 1: 1, LATER: 3}[frame.fragment]}
    fields["ip_proto"] = 44 if six and later else frame.proto
    ports = (0, 0) if frame.fragment else frame.ports
    for proto in ("tcp", "udp", "sctp"):
        fields |= {f"{proto}_src": ports[0], f"{proto}_dst": ports[1]}
    kind, code = (0, 0) if frame.fragment else frame.icmp
    for name in ("icmpv4", "icmpv6"):
        fields |= {f"{name}_type": kind, f"{name}_code": code}
    return fields | {"tcp_flags": 0 if later else frame.flags}
