"""A switch that takes OpenFlow messages, as Open vSwitch does: what it refuses is an error here.

It holds flows, groups and meters, and forwards nothing.  Deleting a group or a meter deletes the
flows that point to it, and a bundle is carried out as a whole.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.wire.messages import bundle
from ofapp.openflow.wire.messages.oxm import oxms, sorted_match

Key = tuple[int, int, bytes]
"""Table, priority and match of a flow."""

_EXPERIMENTER_ACTION, _CONTROLLER2, _CLONE = 0xFFFF, 37, 42
_PROP_METER_ID = 5


class Held(NamedTuple):
    """A flow in the switch.  timeouts: idle and hard, in seconds."""

    cookie: int
    timeouts: tuple[int, int]
    flags: int
    instructions: bytes

    @property
    def feature(self) -> int:
        """The purpose of the flow."""
        return self.cookie >> 40 & 0xFF

    @property
    def learned(self) -> bool:
        """Whether it is half of a learned address, or a host at another member of a fabric."""
        return self.feature in (Feature.LEARNED, Feature.STICKY, Feature.REMOTE)


class RefusedError(AssertionError):
    """The switch refuses a message."""


class MessageSwitch:
    """flows: by key, by table; groups, meters: the octets of their buckets and bands, by number.

    along: learned addresses that were deleted along with a group.  The controller sends them again,
    when it has looked.
    """

    def __init__(self) -> None:
        self.tables: dict[int, dict[Key, Held]] = defaultdict(dict)
        self.groups: dict[int, bytes] = {}
        self.meters: dict[int, bytes] = {}
        self.along = 0
        self._bundle: list[bytes] | None = None

    @property
    def flows(self) -> dict[Key, Held]:
        """All flows."""
        return {key: held for table in self.tables.values() for key, held in table.items()}

    def take(self, data: bytes) -> Iterator[bytes]:
        """Carry messages out; gives each after it, and a bundle's last one after all of it."""
        while data:
            (length,) = struct.unpack_from("!H", data, 2)
            message, data = data[:length], data[length:]
            if message[1] != ofp.OFPT_EXPERIMENTER:
                self._carry_out(message)
                yield message
            elif bundle.is_part(message):
                assert self._bundle is not None
                self._bundle.append(bundle.part(message))
            elif self._bundle is None:
                self._bundle = []
            else:
                parts, self._bundle = self._bundle, None
                for part in parts:
                    self._carry_out(part)
                yield message

    def _carry_out(self, message: bytes) -> None:
        match message[1]:
            case ofp.OFPT_FLOW_MOD:
                self._flow_mod(message)
            case ofp.OFPT_GROUP_MOD:
                self._group_mod(message)
            case ofp.OFPT_METER_MOD:
                self._meter_mod(message)
            case ofp.OFPT_PACKET_OUT | ofp.OFPT_BARRIER_REQUEST | ofp.OFPT_SET_CONFIG:
                pass
            case kind:
                raise RefusedError(f"message of type {kind}")

    def _flow_mod(self, message: bytes) -> None:
        cookie, mask, table, command = struct.unpack_from("!8xQQBB", message)
        port, group = struct.unpack_from("!36xII", message)
        key, new = read_flow(message)
        match, instructions = key[2], new.instructions
        flows = self.tables[table]
        if command == ofp.OFPFC_ADD:
            self._check(key, instructions)
            flows[key] = new
        elif command == ofp.OFPFC_MODIFY_STRICT:
            if key in flows and not (flows[key].cookie ^ cookie) & mask:
                self._check(key, instructions)
                flows[key] = flows[key]._replace(instructions=instructions)
        elif command == ofp.OFPFC_DELETE_STRICT:
            if key in flows and not (flows[key].cookie ^ cookie) & mask:
                del flows[key]
        elif command == ofp.OFPFC_DELETE:
            wanted = {*oxms(match)}
            for each in [*self.tables.values()] if table == ofp.OFPTT_ALL else [flows]:
                gone = [
                    key
                    for key, held in each.items()
                    if not (held.cookie ^ cookie) & mask
                    and wanted <= {*oxms(key[2])}
                    and (port == ofp.OFPP_ANY or port in used(held.instructions).ports)
                    and (group == ofp.OFPG_ANY or group in used(held.instructions).groups)
                ]
                for key in gone:
                    del each[key]
        else:
            raise RefusedError(f"flow-mod with command {command}")

    def _check(self, key: Key, instructions: bytes) -> None:
        uses = used(instructions)
        if missing := uses.groups - self.groups.keys():
            raise RefusedError(f"flow {key} leads to groups {missing}, which do not exist")
        if missing := uses.meters - self.meters.keys():
            raise RefusedError(f"flow {key} has meters {missing}, which do not exist")

    def _group_mod(self, message: bytes) -> None:
        command, number = struct.unpack_from("!8xHxxI", message)
        if command == ofp.OFPGC_DELETE:
            if self.groups.pop(number, None) is not None:
                self._take_along(number, None)
            return
        if (command == ofp.OFPGC_ADD) is (number in self.groups):
            raise RefusedError(f"group {number:#x} is added twice, or changed and does not exist")
        self.groups[number] = message[16:]

    def _meter_mod(self, message: bytes) -> None:
        command, _, number = struct.unpack_from("!8xHHI", message)
        if command == ofp.OFPMC_DELETE:
            if self.meters.pop(number, None) is not None:
                self._take_along(None, number)
            return
        if (command == ofp.OFPMC_ADD) is (number in self.meters):
            raise RefusedError(f"meter {number:#x} is added twice, or changed and does not exist")
        self.meters[number] = message[16:]

    def _take_along(self, group: int | None, meter: int | None) -> None:
        """Delete the flows that point to a group or a meter that is gone."""
        for table in self.tables.values():
            for key, held in [*table.items()]:
                uses = used(held.instructions)
                if group in uses.groups or meter in uses.meters:
                    if not held.learned:
                        what = f"meter {meter:#x}" if group is None else f"group {group:#x}"
                        raise RefusedError(f"flow {key} is deleted along with {what}")
                    del table[key]
                    self.along += 1


def read_flow(message: bytes) -> tuple[Key, Held]:
    """The flow of a flow-mod."""
    cookie, table, idle, hard, priority, flags, length = struct.unpack_from(
        "!8xQ8xBxHHH12xH4xH", message
    )
    instructions = message[48 + length + -length % 8 :]
    held = Held(cookie, (idle, hard), flags & ofp.OFPFF_SEND_FLOW_REM, instructions)
    return (table, priority, sorted_match(message[52 : 48 + length])), held


class Used(NamedTuple):
    """Numbers that a flow's instructions refer to.  goto: the next table."""

    groups: frozenset[int]
    meters: frozenset[int]
    ports: frozenset[int]
    goto: int | None


@lru_cache(1 << 14)
def used(instructions: bytes) -> Used:
    """What instructions refer to."""
    groups: set[int] = set()
    meters: set[int] = set()
    ports: set[int] = set()
    goto: int | None = None
    for kind, body in _typed(instructions):
        if kind == ofp.OFPIT_METER:
            meters.add(int.from_bytes(body[:4], "big"))
        elif kind == ofp.OFPIT_GOTO_TABLE:
            goto = body[0]
        else:
            _read_actions(body[4:], groups, meters, ports)
    return Used(frozenset(groups), frozenset(meters), frozenset(ports), goto)


def bucket_ports(buckets: bytes) -> frozenset[int]:
    """The ports to which buckets of a group send frames."""
    ports: set[int] = set()
    while buckets:
        (length,) = struct.unpack_from("!H", buckets)
        _read_actions(buckets[16:length], set(), set(), ports)
        buckets = buckets[length:]
    return frozenset(ports)


def _read_actions(data: bytes, groups: set[int], meters: set[int], ports: set[int]) -> None:
    for kind, body in _typed(data):
        if kind == ofp.OFPAT_GROUP:
            groups.add(int.from_bytes(body[:4], "big"))
        elif kind == ofp.OFPAT_OUTPUT:
            ports.add(int.from_bytes(body[:4], "big"))
        elif kind == _EXPERIMENTER_ACTION:
            (subtype,) = struct.unpack_from("!4xH", body)
            if subtype == _CLONE:
                _read_actions(body[12:], groups, meters, ports)
            elif subtype == _CONTROLLER2:
                for prop, value in _typed(body[12:]):
                    if prop == _PROP_METER_ID:
                        meters.add(int.from_bytes(value[:4], "big"))


def _typed(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The type of each part and what follows its length, which counts both."""
    while data:
        kind, length = struct.unpack_from("!HH", data)
        if not length:
            return  # padding
        yield kind, data[4:length]
        data = data[length + -length % 8 :]
