"""An emulated OpenFlow 1.3 switch: a fast mouth and ear with no datapath behind it.

It shakes hands, answers what a controller asks as Open vSwitch would, keeps the flows, groups and
meters that it is given (so that a controller's reconciliation finds them), and sends packet-ins as
OVS does: with the cookie and table of the very flow that the controller installed for unknown
sources, in_port in the match, no buffer, a 64-byte frame.  Meters are kept but never applied: the
benchmarks measure the controller, not a rate limit.  Flows never expire.

The flow-mods that the hot loop reads are only logged there; Python looks at them when someone asks
(`flows`), outside any measurement unless the controller requests flow statistics during one.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Callable

from . import native
from . import openflow as of

_lib: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """pump.c, built and loaded once."""
    global _lib
    if _lib is None:
        _lib = native.load()
    return _lib


_FLOW_STATS = struct.Struct("!HBxIIHHHH4xQQQ")


class ControllerGoneError(RuntimeError):
    """The controller closed the connection, or never spoke OpenFlow on it."""


class Switch:
    """A connection to the controller at 127.0.0.1:`port`, as datapath `dpid` of `ports` ports."""

    def __init__(self, port: int, *, dpid: int = 1, ports: int = 8) -> None:
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
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pump = native.Pump()
        self._lib = library()
        self._lib.pump_init(self.pump, self._socket.fileno())
        self._send(of.message(of.HELLO, 1, struct.pack("!HHI", 1, 8, 1 << 4)))
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

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
        self._lib.pump_free(self.pump)

    def run(self, deadline: float) -> int:
        """Drive the hot loop until `deadline` (monotonic seconds), answering in between.

        Returns native.DONE, DEADLINE or STALLED; raises ControllerGoneError.
        """
        limit = int(deadline * 1e9)
        while True:
            code = self._lib.pump_run(self.pump, limit)
            if code == native.CLOSED:
                raise ControllerGoneError("the controller closed the connection")
            if code != native.OTHER:
                return code
            self._answer(ctypes.string_at(self.pump.other, self.pump.other_len))

    def settle(self, quiet: float = 0.4, timeout: float = 20) -> None:
        """Talk until the handshake is over and the controller has been silent for `quiet` s."""
        deadline = time.monotonic() + timeout
        self.idle()
        self.pump.stall_ns = int(quiet * 1e9)
        while self.run(deadline) == native.STALLED:
            if self.features_asked:
                return
        if not self.features_asked:
            raise ControllerGoneError("the controller did not ask for the switch's features")

    def idle(self) -> None:
        """No more packet-ins, and none to wait for: `run` only answers until its deadline."""
        self.pump.n_hosts = self.pump.tracked = 0
        self.pump.stall_ns = 0

    # What it holds

    def flows(self) -> list[of.FlowMod]:
        """The flows installed now."""
        size = self.pump.log_len
        if size:
            log = ctypes.string_at(self.pump.log, size)
            self.pump.log_len = 0
            at = 0
            while at < size:
                length = int.from_bytes(log[at + 2 : at + 4], "big")
                self._flow_mod(of.parse_flow_mod(log[at : at + length]))
                at += length
        return list(self._flows.values())

    def _flow_mod(self, mod: of.FlowMod) -> None:
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

    def meter_rate(self, port: int) -> float | None:
        """The packets a second that the meter of `port`'s unknown sources lets pass, if any."""
        flow = self.miss_flow(port)
        copy = of.to_controller(flow) if flow is not None else None
        meter = copy.meter if copy is not None else None
        config = self.meters.get(meter) if meter is not None else None
        if config is None or len(config) < 16:
            return None
        flags = struct.unpack_from("!H", config, 2)[0]
        return float(struct.unpack_from("!I", config, 12)[0]) if flags & 2 else None

    # What it says

    def _send(self, data: bytes) -> None:
        self._lib.pump_queue(self.pump, data, len(data))

    def _answer(self, raw: bytes) -> None:
        kind, xid = raw[1], int.from_bytes(raw[4:8], "big")
        if kind in (of.HELLO, of.ERROR, of.SET_ASYNC, of.PORT_MOD, of.TABLE_MOD):
            if kind == of.ERROR:
                self.unknown.append(f"error {raw[8:12].hex()} from the controller")
            return
        answer = self._answers.get(kind)
        if answer is None:
            self._refuse(raw, 1, 1, f"message type {kind}")  # BAD_REQUEST, BAD_TYPE
            return
        reply = answer(xid, raw[8:])
        if reply is not None:
            self._send(reply)

    def _refuse(self, raw: bytes, kind: int, code: int, what: str) -> None:
        self.unknown.append(what)
        xid = int.from_bytes(raw[4:8], "big")
        self._send(of.message(of.ERROR, xid, struct.pack("!HH", kind, code) + raw[:64]))

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
        self._refuse(of.message(of.EXPERIMENTER, xid, body), 1, 3, f"experimenter {vendor:#x}")
        return None

    def _multipart(self, xid: int, body: bytes) -> bytes | None:
        kind = struct.unpack_from("!H", body)[0]
        request = body[8:]
        if kind == of.MP_EXPERIMENTER:
            raw = of.message(of.MULTIPART_REQUEST, xid, body)
            self._refuse(raw, 1, 3, f"multipart experimenter {request[:8].hex()}")
            return None
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
            return [b"".join(of.port_desc(number) for number in [*self.ports, of.LOCAL])]
        if kind == of.MP_FLOW:
            return self._flow_stats(request)
        if kind == of.MP_AGGREGATE:
            return [struct.pack("!QQI4x", 0, 0, len(self.flows()))]
        if kind == of.MP_GROUP_DESC:
            return [b"".join(self.groups.values())]
        if kind == of.MP_GROUP_FEATURES:
            return [struct.pack("!II4I4I", 0xF, 0xF, *[0xFFFFFF00] * 4, *[0x1FFFFFF] * 4)]
        if kind == of.MP_METER_CONFIG:
            return [b"".join(self.meters.values())]
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
        parts: list[bytes] = []
        entries: list[bytes] = []
        room, pack = 60_000, _FLOW_STATS.pack
        for flow in self._select(table, cookie, mask, oxms):
            length = 48 + len(flow.body)
            if length > room:
                parts.append(b"".join(entries))
                entries, room = [], 60_000
            room -= length
            times = (flow.priority, flow.idle, flow.hard, flow.flags, flow.cookie, self.packets, 0)
            entries.append(pack(length, flow.table, 1, 0, *times) + flow.body)
        return [*parts, b"".join(entries)]


def _is_context(field: bytes) -> bool:
    """Is this OXM one that says where a frame is in the pipeline, not what it holds?

    in_port, metadata, an untagged VLAN, or one of Nicira's registers.
    """
    kind = struct.unpack_from("!H", field)[0]
    number = field[2] >> 1
    if kind == 0x8000:
        return number in (0, 2) or (number == 6 and not any(field[4:6]))
    return kind in (0x0001, 0x8001)
