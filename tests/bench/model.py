"""What an emulated OpenFlow 1.3 switch holds, and what it answers: no socket, no clock.

It answers what a controller asks as Open vSwitch would, and keeps the flows, groups and meters that
it is given, so that a controller's reconciliation finds them.  Meters are kept but never applied:
the benchmarks measure the controller, not a rate limit.  Flows never expire by themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from tests.bench import openflow as of

_FLOW_STATS = struct.Struct("!HBxIIHHHH4xQQQ")


class Model:
    """Datapath `dpid` with the ports 1 to `ports`."""

    def __init__(self, dpid: int, ports: int) -> None:
        self.dpid = dpid
        self.ports = list(range(1, ports + 1))
        self.features_asked = False
        self.sweeps = 0
        """Requests for flow statistics answered so far."""
        self.packets = 1_000
        self.groups: dict[int, bytes] = {}
        self.meters: dict[int, bytes] = {}
        self.unknown: list[str] = []
        self._flows: dict[tuple[int, int, tuple[bytes, ...]], of.FlowMod] = {}
        self._config = struct.pack("!HH", 0, 128)
        self._answers: dict[int, Callable[[int, bytes], bytes | None]] = {
            of.FEATURES_REQUEST: self._features,
            of.GET_CONFIG_REQUEST: lambda xid, _: of.message(8, xid, self._config),
            of.SET_CONFIG: self._set_config,
            of.GROUP_MOD: self._group_mod,
            of.METER_MOD: self._meter_mod,
            of.MULTIPART_REQUEST: self._multipart,
            of.ROLE_REQUEST: lambda xid, body: of.message(of.ROLE_REPLY, xid, body),
            of.GET_ASYNC_REQUEST: lambda xid, _: of.message(of.GET_ASYNC_REPLY, xid, bytes(24)),
            of.EXPERIMENTER: self._experimenter,
        }

    # What it holds

    def flows(self) -> list[of.FlowMod]:
        """The flows installed now."""
        return list(self._flows.values())

    def flow_mod(self, mod: of.FlowMod) -> None:
        """Carry one out."""
        key = (mod.table, mod.priority, mod.oxms)
        if mod.command == of.ADD:
            self._flows[key] = mod
        elif mod.command == of.DELETE_STRICT:
            held = self._flows.get(key)
            if held is not None and (held.cookie ^ mod.cookie) & mod.cookie_mask == 0:
                del self._flows[key]
        elif mod.command == of.DELETE:
            for held in self._select(mod.table, mod.cookie, mod.cookie_mask, mod.oxms):
                if mod.out_port != of.ANY and not of.outputs_to(held, mod.out_port):
                    continue
                del self._flows[held.table, held.priority, held.oxms]
        else:
            for held in self._select(mod.table, mod.cookie, mod.cookie_mask, mod.oxms):
                if mod.command == of.MODIFY or held.priority == mod.priority:
                    changed = held._replace(tail=mod.tail, body=of.match(*held.oxms) + mod.tail)
                    self._flows[held.table, held.priority, held.oxms] = changed

    def _select(
        self, table: int, cookie: int, mask: int, oxms: tuple[bytes, ...]
    ) -> list[of.FlowMod]:
        wanted = set(oxms)
        return [
            flow
            for flow in self._flows.values()
            if table in (flow.table, 0xFF)
            and (flow.cookie ^ cookie) & mask == 0
            and (not wanted or wanted.issubset(flow.oxms))
        ]

    def hosts_held(self) -> set[bytes]:
        """The source or, without one, destination MACs that its flows match on exactly."""
        found = set()
        for flow in self.flows():
            macs = {o[2] >> 1: o[4:] for o in flow.oxms if o[:2] == b"\x80\0" and o[3] == 6}
            if macs:
                found.add(macs.get(4) or macs[3])
        return found

    def miss_flow(self, port: int) -> of.FlowMod | None:
        """The flow that reports an unknown source on `port`, None when none was installed.

        It outputs to the controller and matches on no address, type or protocol; one for this
        in_port is taken before one for all, a lower priority before a higher, and an earlier table
        before a later, where a controller's multicast rules may be.
        """
        in_port = of.oxm(0, struct.pack("!I", port))
        found = [
            flow
            for flow in self.flows()
            if of.to_controller(flow) is not None
            and all(_is_context(field) for field in flow.oxms)
            and not any(f[:4] == in_port[:4] and f != in_port for f in flow.oxms)
        ]
        found.sort(key=lambda flow: (in_port not in flow.oxms, flow.priority, flow.table))
        return found[0] if found else None

    # What it says

    def answer(self, raw: bytes) -> bytes:
        """What a switch says to a whole message of the controller's; empty when it says nothing."""
        kind, xid = raw[1], int.from_bytes(raw[4:8], "big")
        if kind in (of.HELLO, of.ERROR, of.SET_ASYNC, of.PORT_MOD, of.TABLE_MOD):
            if kind == of.ERROR:
                self.unknown.append(f"error {raw[8:12].hex()} from the controller")
            return b""
        answer = self._answers.get(kind)
        if answer is None:
            return self._refuse(raw, 1, 1, f"message type {kind}")  # BAD_REQUEST, BAD_TYPE
        return answer(xid, raw[8:]) or b""

    def _refuse(self, raw: bytes, kind: int, code: int, what: str) -> bytes:
        self.unknown.append(what)
        xid = int.from_bytes(raw[4:8], "big")
        return of.message(of.ERROR, xid, struct.pack("!HH", kind, code) + raw[:64])

    def _features(self, xid: int, _body: bytes) -> bytes:
        self.features_asked = True
        return of.message(6, xid, struct.pack("!QIBB2xII", self.dpid, 0, 254, 0, 0x4F, 0))

    def _set_config(self, _xid: int, body: bytes) -> None:
        self._config = body[:4]

    def _group_mod(self, _xid: int, body: bytes) -> None:
        command, kind, group = struct.unpack_from("!HBxI", body)
        if command == 2:
            if group == 0xFFFFFFFC:
                self.groups.clear()
            self.groups.pop(group, None)
        else:
            head = struct.pack("!HBxI", len(body), kind, group)
            self.groups[group] = head + body[8:]

    def _meter_mod(self, _xid: int, body: bytes) -> None:
        command, flags, meter = struct.unpack_from("!HHI", body)
        if command == 2:
            if meter == 0xFFFFFFFF:
                self.meters.clear()
            self.meters.pop(meter, None)
        else:
            self.meters[meter] = struct.pack("!HHI", len(body), flags, meter) + body[8:]

    def _experimenter(self, xid: int, body: bytes) -> bytes | None:
        vendor, kind = struct.unpack_from("!II", body)
        if vendor == of.ONF and kind == 2300:  # bundle control: every request is granted
            bundle, control, flags = struct.unpack_from("!IHH", body, 8)
            reply = struct.pack("!IIIHH", vendor, kind, bundle, control + 1, flags)
            return of.message(of.EXPERIMENTER, xid, reply)
        if vendor == of.NICIRA:
            return None  # settings without a reply, such as the packet-in format
        if vendor == of.ONF and kind == 2301:
            return None  # something else than a flow-mod inside a bundle
        return self._refuse(
            of.message(of.EXPERIMENTER, xid, body), 1, 3, f"experimenter {vendor:#x}"
        )

    def _multipart(self, xid: int, body: bytes) -> bytes:
        kind = struct.unpack_from("!H", body)[0]
        request = body[8:]
        if kind == of.MP_EXPERIMENTER:
            raw = of.message(of.MULTIPART_REQUEST, xid, body)
            return self._refuse(raw, 1, 3, f"multipart experimenter {request[:8].hex()}")
        parts = self._parts(kind, request)
        return b"".join(
            of.message(
                of.MULTIPART_REPLY,
                xid,
                struct.pack("!HH4x", kind, int(i + 1 < len(parts))) + part,
            )
            for i, part in enumerate(parts)
        )

    def _parts(self, kind: int, request: bytes) -> list[bytes]:
        """The reply's body in parts that fit a message each; an empty one for the rest."""
        if kind == of.MP_DESC:
            texts = [(b"Nicira, Inc.", 256), (b"Open vSwitch", 256), (b"3.1.0", 256)]
            texts += [(b"None", 32), (b"emulated by tests/bench", 256)]
            return [b"".join(text.ljust(size, b"\0") for text, size in texts)]
        if kind == of.MP_PORT_DESC:
            return _in_parts(of.port_desc(number) for number in [*self.ports, of.LOCAL])
        if kind == of.MP_FLOW:
            return self._flow_stats(request)
        if kind == of.MP_AGGREGATE:
            return [struct.pack("!QQI4x", 0, 0, len(self.flows()))]
        if kind == of.MP_GROUP_DESC:
            return _in_parts(self.groups.values())
        if kind == of.MP_GROUP_FEATURES:
            return [struct.pack("!II4I4I", 0xF, 0xF, *[0xFFFFFF00] * 4, *[0x1FFFFFF] * 4)]
        if kind == of.MP_METER_CONFIG:
            return _in_parts(self.meters.values())
        if kind == of.MP_METER_FEATURES:
            return [struct.pack("!IIIBBxx", 100_000, 0x2, 0xF, 1, 0)]
        return [b""]

    def _flow_stats(self, request: bytes) -> list[bytes]:
        table, _port, _group, cookie, mask = struct.unpack_from("!B3xII4xQQ", request)
        self.flows()
        self.sweeps += 1
        length = struct.unpack_from("!H", request, 34)[0]
        oxms = of.split_oxms(request[36 : 32 + length])
        self.packets += 1_000  # as if every flow were in use
        return _in_parts(self._flow_entry(flow) for flow in self._select(table, cookie, mask, oxms))

    def _flow_entry(self, flow: of.FlowMod) -> bytes:
        times = (flow.priority, flow.idle, flow.hard, flow.flags, flow.cookie, self.packets, 0)
        return _FLOW_STATS.pack(48 + len(flow.body), flow.table, 1, 0, *times) + flow.body


def _in_parts(items: Iterable[bytes], most: int = 60_000) -> list[bytes]:
    """Joined, so that each part fits a message; an empty one for none."""
    parts = [bytearray()]
    for item in items:
        if len(parts[-1]) + len(item) > most:
            parts.append(bytearray())
        parts[-1] += item
    return [*map(bytes, parts)]


def _is_context(field: bytes) -> bool:
    """Is this OXM one that says where a frame is in the pipeline, not what it holds?

    in_port, metadata, an untagged VLAN, or one of Nicira's registers.
    """
    kind = struct.unpack_from("!H", field)[0]
    number = field[2] >> 1
    if kind == 0x8000:
        return number in (0, 2) or (number == 6 and not any(field[4:6]))
    return kind in (0x0001, 0x8001)
