"""Learned addresses on the wire, fast.

Building and serialising one flow-mod through a message library costs 46 microseconds, reading
one packet-in as much; a new host takes a packet-in and two flow-mods.  So the flows of
`ofapp.openflow.pipeline.flows.learned_flows` are serialised once with marker values, and each
host's messages are those bytes with its own values packed in.  What comes back about learned
addresses is read at fixed offsets.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.bridge.effects import (
    InstallDestination,
    InstallEntry,
    InstallSticky,
    RemoveDestination,
    RemoveSource,
)
from ofapp.bridge.params import MAX_AGEING_TIME
from ofapp.bridge.reach import Reach
from ofapp.openflow.model.cookie import APP, Feature, make_cookie
from ofapp.openflow.model.flow import VID_MASK, Action, Output
from ofapp.openflow.pipeline.egress import port_of_group, way_out
from ofapp.openflow.pipeline.flows import learned_flows
from ofapp.openflow.wire import bundle, codec

_BPDU_COOKIE = make_cookie(Feature.BPDU).to_bytes(8, "big")
_SNOOP_COOKIE = make_cookie(Feature.SNOOP).to_bytes(8, "big")
_MISS_COOKIE = make_cookie(Feature.MISS).to_bytes(8, "big")
_LEARNED_PREFIX = make_cookie(Feature.LEARNED).to_bytes(8, "big")[:4]

_PORT, _VID, _MAC, _SERIAL = 0x01020304, 0xABC, 0xA1A2A3A4A5A6, 0x51525354
_MARKERS = {
    "port": (_PORT.to_bytes(4, "big"), "I"),
    "vid": (_VID.to_bytes(2, "big") + b"\x0f\xff", "H2x"),
    "mac": (_MAC.to_bytes(6, "big"), "6s"),
    "serial": (_SERIAL.to_bytes(4, "big"), "I"),
}


_IDLE = 10  # where the idle timeout is, behind the serial


class _Template:
    """A message with holes.  `pack` takes the values of the holes in their order.

    bundled: it is part of a bundle.
    """

    def __init__(self, message: bytes, *holes: str, bundled: bool = False) -> None:
        if bundled:
            message = bundle.add(bundle.LEARNED, message)
        layout, constants, at = "!", [], 0
        for hole in holes:
            marker, code = _MARKERS[hole]
            begin = message.index(marker, at)
            mask = b"\x0f\xff" if hole == "vid" else b""
            layout += f"{begin - at}s{code.removesuffix('2x')}"
            constants.append(message[at:begin])
            at = begin + len(marker) - len(mask)
        layout += f"{len(message) - at}s"
        self.constants = (*constants, message[at:])
        self.struct = struct.Struct(layout)


class _Templates(NamedTuple):
    """What adds the halves of an address, and what deletes them."""

    destination: _Template
    source: _Template
    no_destination: _Template
    no_source: _Template
    no_source_any: _Template


@lru_cache(16)
def _templates(ageing_time: int | None, bundled: bool) -> _Templates:
    """Made once: ports may come by the hundred, and each gives a bridge another `Reach`."""
    destination, source = learned_flows(_PORT, _VID, _MAC, _SERIAL, ageing_time)
    to, by = ("serial", "mac", "vid"), ("serial", "port", "mac", "vid")
    return _Templates(
        _Template(codec.add_flow(destination), *to, "port", bundled=bundled),
        _Template(codec.add_flow(source), *by, bundled=bundled),
        _Template(codec.delete_flow(destination), *to, bundled=bundled),
        _Template(codec.delete_flow(source), *by, bundled=bundled),
        _Template(codec.delete_flow(source, any_serial=True), *by, bundled=bundled),
    )


@lru_cache(16)
def _idle_timeouts(ageing_time: int) -> tuple[int, ...]:
    """Seconds, by the serial: eight cohorts have the same.

    Hosts that fell silent together would expire together, and a switch that takes out a hundred
    thousand flows in one go does nothing else meanwhile: a hello was seconds late [measured].  So
    some stay up to a tenth longer.
    """
    steps = range(32)
    return tuple(min(ageing_time + ageing_time * step // 320, MAX_AGEING_TIME) for step in steps)


@lru_cache(16)
def _compile_install(
    ageing_time: int | None, bundled: bool
) -> Callable[[InstallEntry | InstallSticky], bytes]:
    """Made once for all switches: it depends on nothing of theirs."""
    made = _templates(ageing_time, bundled)
    destination, source = made.destination, made.source
    d0, d1, d2, d3, d4 = destination.constants
    s0, s1, s2, s3, s4 = source.constants
    idle = _idle_timeouts(ageing_time or 0)
    s1s = [s1[:_IDLE] + seconds.to_bytes(2, "big") + s1[_IDLE + 2 :] for seconds in idle]
    joined = struct.Struct(destination.struct.format + source.struct.format[1:])
    pack = joined.pack
    remove = made.no_source_any
    r0, r1, r2, r3, r4 = remove.constants
    pack_remove = remove.struct.pack

    def install(effect: InstallEntry | InstallSticky) -> bytes:
        """Both halves; for a move then also the end of the source half at the old port."""
        port, vid, mac, serial, old_port = effect
        addr = mac.to_bytes(6, "big")
        message = pack(
            *(d0, serial, d1, addr, d2, vid, d3, port, d4),
            *(s0, serial, s1s[serial >> 3 & 31], port, s2, addr, s3, vid, s4),
        )
        if old_port:
            message += pack_remove(r0, serial, r1, old_port, r2, addr, r3, vid, r4)
        return message

    return install


class LearnedWriter:
    """Effects on learned addresses to messages, for one ageing time.

    It is in seconds, 0 for never, None for sticky addresses, which are a kind of their own.
    idle: the idle timeouts that stand for it.

    How frames leave by a port (see `leaving`) is known in advance for plain ports, which are
    nearly all, and made when it is first asked for others.

    reach: who may reach whom, None where every port is plain; bundled: the messages are parts of
    a bundle.
    """

    def __init__(
        self, ageing_time: int | None, reach: Reach | None = None, bundled: bool = False
    ) -> None:
        self._ageing_time = ageing_time
        self.reach = reach
        self._bundled = bundled
        made = _templates(ageing_time, bundled)
        self._add, self._delete_destination = (made.destination, made.source), made.no_destination
        self._delete_source = made.no_source
        self.idle = _idle_timeouts(ageing_time or 0)
        self._install = _compile_install(ageing_time, bundled)
        self._special: dict[tuple[Action, ...], _Template] = {}
        self._instructions: dict[tuple[int, bool], bytes] = {}
        plain = reach is None or reach.plain
        self.install = self._install if plain else self._install_as_reached

    def _install_as_reached(self, effect: InstallEntry | InstallSticky) -> bytes:
        port, vid, mac, serial, _ = effect
        message = self._install(effect)
        template = self._template(port, vid)
        if template is None:
            return message
        (length,) = struct.unpack_from("!H", message, 2)
        c0, c1, c2, c3 = template.constants
        addr = mac.to_bytes(6, "big")
        return template.struct.pack(c0, serial, c1, addr, c2, vid, c3) + message[length:]

    def _template(self, port: int, vid: int) -> _Template | None:
        """The destination half for a port where frames do not just go out; else None."""
        if self.reach is None:
            return None
        out = way_out(self.reach, port, vid)
        if out == (Output(port),):
            return None
        template = self._special.get(out)
        if template is None:
            destination, _ = learned_flows(port, _VID, _MAC, _SERIAL, self._ageing_time, out)
            message = codec.add_flow(destination)
            template = _Template(message, "serial", "mac", "vid", bundled=self._bundled)
            self._special[out] = template
        return template

    def instructions(self, port: int, vid: int) -> bytes:
        """Those of a destination half."""
        pops = self.reach is not None and self.reach.vlans(port).pops(vid)
        made = self._instructions.get((port, pops))
        if made is None:
            message = self.install_destination(InstallDestination(port, vid, _MAC, _SERIAL))
            (match_length,) = struct.unpack_from("!H", message, 50)
            made = message[48 + match_length + (-match_length % 8) :]
            self._instructions[port, pops] = made
        return made

    def install_destination(self, effect: InstallDestination) -> bytes:
        """The destination half alone."""
        addr = effect.mac.to_bytes(6, "big")
        special = self._template(effect.port, effect.vid)
        if special is not None:
            c0, c1, c2, c3 = special.constants
            return special.struct.pack(c0, effect.serial, c1, addr, c2, effect.vid, c3)
        template = self._add[0]
        c0, c1, c2, c3, c4 = template.constants
        return template.struct.pack(
            c0, effect.serial, c1, addr, c2, effect.vid, c3, effect.port, c4
        )

    def remove_source(self, effect: RemoveSource) -> bytes:
        """The end of a source half, if its cookie still has the serial."""
        c0, c1, c2, c3, c4 = self._delete_source.constants
        addr = effect.mac.to_bytes(6, "big")
        return self._delete_source.struct.pack(
            c0, effect.serial, c1, effect.port, c2, addr, c3, effect.vid, c4
        )

    def remove_destination(self, effect: RemoveDestination) -> bytes:
        """The end of a destination half, if its cookie still has the serial."""
        c0, c1, c2, c3 = self._delete_destination.constants
        addr = effect.mac.to_bytes(6, "big")
        return self._delete_destination.struct.pack(c0, effect.serial, c1, addr, c2, effect.vid, c3)


# What the switch says

_IN_PORT = 0x80000004
_ETH_SRC = 0x80000806
_ETH_DST = 0x80000606
_VLAN_VID, _VLAN_VID_MASKED = 0x80000C02, 0x80000D04
_TAGS = (0x8100, 0x88A8)

# From the cookie (offset 16) of a packet-in whose match is in_port alone, to the VLAN tag.
# OVS takes a tag for one only if the inner type is there as well: 18 bytes of frame.
_PACKET_IN = struct.Struct("!8sHHII4x2x6xHIHH2x")
_PACKET_IN_LENGTH = 16 + _PACKET_IN.size
_ETHERNET = struct.Struct("!6xHIHH")
_OXM = struct.Struct("!I")


def is_bpdu(data: bytes, at: int) -> bool:
    """Whether the packet-in at this offset is a BPDU from `admission/bpdu`."""
    return data[at + 16 : at + 24] == _BPDU_COOKIE


def is_snooped(data: bytes, at: int) -> bool:
    """Whether the packet-in at this offset is IGMP, MLD, PIM or MRD from `snoop/snoop`."""
    return data[at + 16 : at + 24] == _SNOOP_COOKIE


def is_miss(data: bytes, at: int) -> bool:
    """Whether the packet-in at this offset is a copy from `source/miss`."""
    return data[at + 16 : at + 24] == _MISS_COOKIE


def read_miss(data: bytes, at: int, length: int) -> tuple[int, int, int] | None:
    """(port, vid, source mac) of a packet-in that `is_miss`; None when it is malformed."""
    if length >= _PACKET_IN_LENGTH:
        _, match, match_length, oxm, port, high, low, type_, tci = _PACKET_IN.unpack_from(
            data, at + 16
        )
        if match == 1 and match_length == 12 and oxm == _IN_PORT:
            return port, (tci & VID_MASK if type_ in _TAGS else 0), high << 32 | low
    return _read_miss_slowly(data[at : at + length])


def _read_miss_slowly(message: bytes) -> tuple[int, int, int] | None:
    """The same for any match and any length."""
    told = read_packet_in(message)
    if told is None or len(told[1]) < 14:
        return None
    port, frame = told
    _, high, low, type_ = struct.unpack_from("!6sHIH", frame)
    vid = 0
    if type_ in _TAGS and len(frame) >= 18:
        vid = int.from_bytes(frame[14:16], "big") & VID_MASK
    return port, vid, high << 32 | low


def read_packet_in(message: bytes) -> tuple[int, bytes] | None:
    """(port, frame) of any packet-in; None when it is malformed or of no port."""
    try:
        (match_length,) = struct.unpack_from("!H", message, 26)
        port = None
        for oxm, value in oxms(message[28 : 24 + match_length]):
            if oxm == _IN_PORT:
                port = int.from_bytes(value, "big")
    except struct.error:
        return None
    frame = message[24 + match_length + (-match_length % 8) + 2 :]
    return None if port is None else (port, frame)


class Expired(NamedTuple):
    """A learned address that the datapath has aged out."""

    vid: int
    mac: int
    serial: int


_IDLE_TIMEOUT, _HARD_TIMEOUT = 0, 1  # OFPRR_
_OURS = APP.to_bytes(2, "big")
# As Open vSwitch words it, from the cookie (offset 8) on: in_port, eth_src and VLAN are matched.
_AGED_OUT = struct.Struct("!4xI32xII4xIHIIH")
_AGED_OUT_HEADERS = (1 << 16 | 30, _IN_PORT, _ETH_SRC, _VLAN_VID_MASKED)
_AGED_OUT_LENGTH = 8 + _AGED_OUT.size


def is_learned_notice(data: bytes, at: int) -> bool:
    """Whether the FLOW_REMOVED at this offset is about a learned address."""
    return data[at + 8 : at + 12] == _LEARNED_PREFIX


def is_deletion(type_: int, message: bytes) -> bool:
    """Whether it is a FLOW_REMOVED that says that somebody, maybe we, deleted a flow of ours."""
    if type_ != ofp.OFPT_FLOW_REMOVED or len(message) < 56 or message[8:10] != _OURS:
        return False
    return message[18] not in (_IDLE_TIMEOUT, _HARD_TIMEOUT)


def read_flow_removed(data: bytes, at: int, length: int) -> Expired | None:
    """What a FLOW_REMOVED says of a learned address.

    None when it says nothing new: a flow that was deleted by our own doing, or a malformed
    message (the next sweep will tell).
    """
    if length < 56:
        return None
    if data[at + 18] != _IDLE_TIMEOUT:
        return None
    if length >= _AGED_OUT_LENGTH:
        serial, head, port, source, high, low, vlan, vid = _AGED_OUT.unpack_from(data, at + 8)
        if (head, port, source, vlan) == _AGED_OUT_HEADERS:
            return Expired(vid & VID_MASK, high << 32 | low, serial)
    serial = int.from_bytes(data[at + 12 : at + 16], "big")
    try:
        (match_length,) = struct.unpack_from("!H", data, at + 50)
        fields = _read_match(data[at + 52 : at + 48 + match_length])
    except struct.error:
        return None
    if fields is None:
        return None
    return Expired(fields.vid, fields.source, serial)


class HeldFlow(NamedTuple):
    """One flow of a flow-stats reply; `match` are its OXM fields, `instructions` raw too.

    age: seconds since it was added or added anew.
    """

    table: int
    priority: int
    idle_timeout: int
    flags: int
    cookie: int
    packets: int
    match: bytes
    instructions: bytes
    octets: int
    age: float


_FLOW_STATS = struct.Struct("!HBxIIHHHH4xQQQHH")


def read_flow_stats(body: bytes) -> Iterator[HeldFlow]:
    """The flows in the body of a flow-stats reply; ValueError when it is malformed."""
    at = 0
    while at < len(body):
        try:
            fields = _FLOW_STATS.unpack_from(body, at)
        except struct.error as error:
            raise ValueError("truncated flow statistics") from error
        length, table, seconds, nanoseconds, priority, idle, _, flags = fields[:8]
        cookie, packets, octets, _, match_length = fields[8:]
        match_end = at + 48 + match_length
        instructions = at + 48 + match_length + (-match_length % 8)
        if match_length < 4 or not at + 56 <= instructions <= at + length <= len(body):
            raise ValueError("flow statistics with impossible lengths")
        yield HeldFlow(
            table,
            priority,
            idle,
            flags,
            cookie,
            packets,
            body[at + 52 : match_end],
            body[instructions : at + length],
            octets,
            seconds + nanoseconds / 1e9,
        )
        at += length


class HalfFields(NamedTuple):
    """What either half of a learned address matches; what it does not match is 0."""

    port: int
    vid: int
    source: int
    destination: int


def read_half(held: HeldFlow) -> HalfFields | None:
    """The address in a learned flow; a destination half's port is read from its output action.

    None when it is not of the form that this code makes.
    """
    fields = _read_match(held.match)
    if fields is None or bool(fields.source) == bool(fields.destination):
        return None
    if fields.source:
        return fields if fields.port else None
    port = _leads_to(held.instructions)
    return None if port is None else fields._replace(port=port)


def _leads_to(instructions: bytes) -> int | None:
    """The port of a destination half: its last action is an output, or the port's group."""
    if len(instructions) < 16:
        return None
    kind, _, number = struct.unpack_from("!HHI", instructions, len(instructions) - 8)
    if kind == ofp.OFPAT_GROUP and len(instructions) == 16:
        return port_of_group(number)
    kind, _, number = struct.unpack_from("!HHI", instructions, len(instructions) - 16)
    return int(number) if kind == ofp.OFPAT_OUTPUT else None


def _read_match(match: bytes) -> HalfFields | None:
    port = vid = source = destination = 0
    for oxm, value in oxms(match):
        if oxm == _IN_PORT:
            port = int.from_bytes(value, "big")
        elif oxm == _ETH_SRC:
            source = int.from_bytes(value, "big")
        elif oxm == _ETH_DST:
            destination = int.from_bytes(value, "big")
        elif oxm in (_VLAN_VID, _VLAN_VID_MASKED):
            vid = int.from_bytes(value[:2], "big") & VID_MASK
        else:
            return None
    return HalfFields(port, vid, source, destination)


def oxms(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(header, value) of each OXM field; struct.error when one is cut short."""
    at = 0
    while at < len(data):
        (oxm,) = _OXM.unpack_from(data, at)
        end = at + 4 + (oxm & 0xFF)
        if end > len(data):
            raise struct.error("an OXM field is cut short")
        yield oxm, data[at + 4 : end]
        at = end


def sorted_match(match: bytes) -> bytes:
    """A match's fields in one order, whatever order they came in; ValueError when malformed."""
    try:
        return b"".join(oxm.to_bytes(4, "big") + value for oxm, value in sorted(oxms(match)))
    except struct.error as error:
        raise ValueError("a malformed match") from error
