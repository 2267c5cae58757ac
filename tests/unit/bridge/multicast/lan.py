"""Frames as hosts and routers send them, built here independently of the code under test, and a
small LAN to play them to: it holds the datapath the effects describe, and the time."""

from __future__ import annotations

import socket
import struct

from ofapp.bridge.event import Event
from ofapp.bridge.multicast import (
    Effect,
    Family,
    ForwardTo,
    Params,
    PortParams,
    RemoveGroup,
    SendFrame,
    SetGroup,
    SetUnregistered,
    Snooping,
    VlanParams,
)
from ofapp.bridge.multicast.decode import decode

MAC = 0x02_00_00_00_00_FE
IS_IN, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK = range(1, 7)


def ip(text: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def internet_checksum(data: bytes) -> int:
    """RFC 1071 the slow way, word by word."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(payload: bytes, ethertype: int, host: int = 1, tags: bytes = b"") -> bytes:
    source = bytes((2, 0, 0, 0, 0, host))
    return b"\x01\x00\x5e\x00\x00\x16" + source + tags + struct.pack("!H", ethertype) + payload


def ipv4(
    payload: bytes,
    src: str,
    dst: str,
    proto: int = 2,
    ttl: int = 1,
    options: bytes = b"\x94\x04\x00\x00",
    fragment: int = 0,
) -> bytes:
    ihl = 5 + len(options) // 4
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x40 | ihl, 0xC0, ihl * 4 + len(payload), 0, fragment, ttl, proto, 0,
        ip(src), ip(dst),
    ) + options  # fmt: skip
    return head[:10] + struct.pack("!H", internet_checksum(head)) + head[12:] + payload


def igmp(kind: int, code: int, rest: bytes) -> bytes:
    raw = bytes((kind, code, 0, 0)) + rest
    return raw[:2] + struct.pack("!H", internet_checksum(raw)) + raw[4:]


def icmp6(kind: int, rest: bytes, src: str, dst: str, code: int = 0, proto: int = 58) -> bytes:
    raw = bytes((kind, code, 0, 0)) + rest
    pseudo = ip(src) + ip(dst) + struct.pack("!II", len(raw), proto)
    return raw[:2] + struct.pack("!H", internet_checksum(pseudo + raw)) + raw[4:]


HOP_BY_HOP = b"\x00\x05\x02\x00\x00\x01\x00"  # extension length, Router Alert, PadN


def ipv6(
    payload: bytes, src: str, dst: str, hop_limit: int = 1, hbh: bytes = HOP_BY_HOP, proto: int = 58
) -> bytes:
    if hbh:
        payload = bytes((proto,)) + hbh + payload
    first = 0 if hbh else proto
    head = struct.pack("!IHBB", 6 << 28, len(payload), first, hop_limit)
    return head + ip(src) + ip(dst) + payload


def records(*rows: tuple[int, str, list[str]]) -> bytes:
    body = struct.pack("!HH", 0, len(rows))
    for kind, group, sources in rows:
        body += struct.pack("!BBH", kind, 0, len(sources)) + ip(group)
        body += b"".join(ip(source) for source in sources)
    return body


class V4:
    """IGMP messages of a host or router."""

    family = Family.IPV4
    group, other, flooded = "239.1.1.1", "239.1.1.2", "224.0.0.251"
    sources = ("10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4")
    router, low_router, none = "10.0.0.200", "10.0.0.100", "0.0.0.0"
    own = "10.0.0.150"
    new, old = 3, 2

    @staticmethod
    def report(
        *rows: tuple[int, str, list[str]], host: int = 1, src: str | None = None, tags: bytes = b""
    ) -> bytes:
        src = src or f"10.0.0.{host}"
        message = igmp(0x22, 0, records(*rows))
        return ethernet(ipv4(message, src, "224.0.0.22"), 0x0800, host, tags)

    @staticmethod
    def join(group: str = "239.1.1.1", host: int = 1) -> bytes:
        return ethernet(ipv4(igmp(0x16, 0, ip(group)), f"10.0.0.{host}", group), 0x0800, host)

    @staticmethod
    def join_v1(group: str = "239.1.1.1", host: int = 1) -> bytes:
        message = ipv4(igmp(0x12, 0, ip(group)), f"10.0.0.{host}", group, options=b"")
        return ethernet(message, 0x0800, host)

    @staticmethod
    def leave(group: str = "239.1.1.1", host: int = 1) -> bytes:
        message = ipv4(igmp(0x17, 0, ip(group)), f"10.0.0.{host}", "224.0.0.2")
        return ethernet(message, 0x0800, host)

    @staticmethod
    def query(
        src: str = "10.0.0.200",
        group: str | None = None,
        sources: tuple[str, ...] = (),
        version: int = 3,
        code: int | None = None,
        suppress: bool = False,
        qrv: int = 2,
        qqic: int = 125,
    ) -> bytes:
        code = (10 if group else 100) if code is None else code
        rest = ip(group or "0.0.0.0")
        if version == 3:
            rest += struct.pack("!BBH", suppress << 3 | qrv, qqic, len(sources))
            rest += b"".join(ip(source) for source in sources)
        if version == 1:
            code = 0
        return ethernet(ipv4(igmp(0x11, code, rest), src, group or "224.0.0.1"), 0x0800, 0xEE)

    @staticmethod
    def hello(src: str = "10.0.0.201", hold: int | None = 105) -> bytes:
        options = b"" if hold is None else struct.pack("!HHH", 1, 2, hold)
        return ethernet(ipv4(igmp(0x20, 0, options), src, "224.0.0.13", proto=103), 0x0800, 0xED)

    @staticmethod
    def mrd(src: str = "10.0.0.202", interval: int = 20, end: bool = False) -> bytes:
        if end:
            return ethernet(ipv4(igmp(0x32, 0, b""), src, "224.0.0.106"), 0x0800, 0xEC)
        message = igmp(0x30, interval, struct.pack("!HH", 125, 2))
        return ethernet(ipv4(message, src, "224.0.0.106"), 0x0800, 0xEC)

    @staticmethod
    def unknown() -> bytes:
        return ethernet(ipv4(igmp(0x13, 1, b"\0\0\0\0"), "10.0.0.9", "224.0.0.4"), 0x0800, 9)

    @staticmethod
    def damaged() -> bytes:
        frame = V4.join()
        return frame[:-1] + bytes((frame[-1] ^ 1,))


class V6:
    """MLD messages of a host or router."""

    family = Family.IPV6
    group, other, flooded = "ff05::1:1", "ff05::1:2", "ff02::1"
    sources = ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4")
    router, low_router, none = "fe80::200", "fe80::100", "::"
    own = "fe80::150"
    new, old = 2, 1

    @staticmethod
    def report(
        *rows: tuple[int, str, list[str]], host: int = 1, src: str | None = None, tags: bytes = b""
    ) -> bytes:
        src = src or f"fe80::{host}"
        message = icmp6(143, records(*rows), src, "ff02::16")
        return ethernet(ipv6(message, src, "ff02::16"), 0x86DD, host, tags)

    @staticmethod
    def single(kind: int, group: str, host: int, dst: str) -> bytes:
        src = f"fe80::{host}"
        message = icmp6(kind, bytes(4) + ip(group), src, dst)
        return ethernet(ipv6(message, src, dst), 0x86DD, host)

    @staticmethod
    def join(group: str = "ff05::1:1", host: int = 1) -> bytes:
        return V6.single(131, group, host, group)

    @staticmethod
    def leave(group: str = "ff05::1:1", host: int = 1) -> bytes:
        return V6.single(132, group, host, "ff02::2")

    @staticmethod
    def query(
        src: str = "fe80::200",
        group: str | None = None,
        sources: tuple[str, ...] = (),
        version: int = 2,
        code: int | None = None,
        suppress: bool = False,
        qrv: int = 2,
        qqic: int = 125,
    ) -> bytes:
        code = (1000 if group else 10000) if code is None else code
        rest = struct.pack("!HH", code, 0) + ip(group or "::")
        if version == 2:
            rest += struct.pack("!BBH", suppress << 3 | qrv, qqic, len(sources))
            rest += b"".join(ip(source) for source in sources)
        dst = group or "ff02::1"
        return ethernet(ipv6(icmp6(130, rest, src, dst), src, dst), 0x86DD, 0xEE)

    @staticmethod
    def hello(src: str = "fe80::201", hold: int | None = 105) -> bytes:
        options = b"" if hold is None else struct.pack("!HHH", 1, 2, hold)
        message = icmp6(0x20, options, src, "ff02::d", proto=103)
        return ethernet(ipv6(message, src, "ff02::d", hbh=b"", proto=103), 0x86DD, 0xED)

    @staticmethod
    def mrd(src: str = "fe80::202", interval: int = 20, end: bool = False) -> bytes:
        rest = b"" if end else struct.pack("!HH", 125, 2)
        message = icmp6(153 if end else 151, rest, src, "ff02::6a", code=interval)
        return ethernet(ipv6(message, src, "ff02::6a"), 0x86DD, 0xEC)

    @staticmethod
    def unknown() -> bytes:
        message = icmp6(135, bytes(20), "fe80::9", "ff02::1:ff00:1")
        return ethernet(ipv6(message, "fe80::9", "ff02::1:ff00:1", hop_limit=255), 0x86DD, 9)

    @staticmethod
    def damaged() -> bytes:
        frame = V6.join()
        return frame[:-1] + bytes((frame[-1] ^ 1,))


class Lan:
    """A bridge with ports 1..n forwarding on one VLAN, its datapath, and a clock."""

    def __init__(
        self,
        ports: int = 5,
        vid: int = 1,
        params: Params | None = None,
        port_params: PortParams | None = None,
        now: float = 1000.0,
        **vlan: object,
    ) -> None:
        self.now = now
        self.vid = vid
        vlan_params = VlanParams(**vlan)  # type: ignore[arg-type]
        self.snooping = Snooping(params or Params(vlan=vlan_params), MAC)
        self.entries: dict[tuple[int, bytes, bytes | None], frozenset[int]] = {}
        self.unregistered: dict[tuple[int, Family], frozenset[int] | None] = {}
        self.everywhere = frozenset(range(1, ports + 1))
        self.events: list[Event] = []
        self.sent: list[SendFrame] = []
        self.forwarded: frozenset[int] = frozenset()
        self.changes = 0
        for port in sorted(self.everywhere):
            self.do(self.snooping.add_port(port, self.now, port_params))
            self.do(self.snooping.set_port_states({port: (True, True)}, self.now))
        self.do(self.snooping.set_vlan(vid, self.everywhere, self.now))

    def do(self, effects: list[Effect]) -> list[Effect]:
        """Apply effects to the datapath; an effect that changes nothing is a defect."""
        self.forwarded = frozenset()
        for effect in effects:
            if isinstance(effect, SetGroup):
                key = (effect.vid, effect.group, effect.source)
                assert self.entries.get(key) != effect.ports, f"no change: {effect}"
                self.entries[key] = effect.ports
                self.changes += 1
            elif isinstance(effect, RemoveGroup):
                del self.entries[effect.vid, effect.group, effect.source]
                self.changes += 1
            elif isinstance(effect, SetUnregistered):
                where = (effect.vid, effect.family)
                assert self.unregistered.get(where) != effect.ports, f"no change: {effect}"
                self.unregistered[where] = effect.ports
            elif isinstance(effect, SendFrame):
                assert effect.ports
                self.sent.append(effect)
            elif isinstance(effect, ForwardTo):
                assert not self.forwarded
                assert effect.ports
                self.forwarded = effect.ports
            else:
                assert isinstance(effect, Event)
                self.events.append(effect)
        return effects

    def receive(self, port: int, frame: bytes) -> list[Effect]:
        return self.do(self.snooping.receive(port, self.vid, frame, self.now))

    def advance(self, seconds: float) -> None:
        """Let time pass, waking the core exactly when it asked to be woken."""
        end = self.now + seconds
        while (due := self.snooping.next_wakeup()) is not None and due <= end:
            self.now = max(self.now, due)
            self.do(self.snooping.tick(self.now))
        self.now = end

    def heard_by(self, group: str, source: str | None = None, vid: int | None = None) -> set[int]:
        """Ports a frame to the group (from the source) goes to, as the datapath looks it up."""
        vid = self.vid if vid is None else vid
        packed = ip(group)
        if source is not None and (vid, packed, ip(source)) in self.entries:
            return set(self.entries[vid, packed, ip(source)])
        if (vid, packed, None) in self.entries:
            return set(self.entries[vid, packed, None])
        family = Family.IPV4 if len(packed) == 4 else Family.IPV6
        ports = self.unregistered.get((vid, family))
        return set(self.everywhere if ports is None else ports)

    def queries(self) -> list[tuple[frozenset[int], object]]:
        """Queries sent since asked last, decoded: (ports, query)."""
        found = [(effect.ports, decode(effect.frame, strict=True)) for effect in self.sent]
        self.sent.clear()
        return found

    def kinds(self) -> list[str]:
        """Kinds of the events since asked last."""
        found = [event.kind for event in self.events]
        self.events.clear()
        return found

    def restricted(self, vx: type[V4] | type[V6], port: int = 5) -> Lan:
        """Let an outside querier be heard at a port, and wait until snooping restricts."""
        self.receive(port, vx.query())
        self.advance(10.0)
        self.sent.clear()
        self.events.clear()
        return self
