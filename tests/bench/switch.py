"""An emulated OpenFlow 1.3 switch: a fast mouth and ear with no datapath behind it.

It shakes hands, answers what a controller asks (`model.py`), and sends packet-ins as OVS does: with
the cookie and table of the very flow that the controller installed for unknown sources, in_port in
the match, no buffer, a 64-byte frame.

The flow-mods that the hot loop reads are only logged there; Python looks at them when someone asks
(`flows`), outside any measurement unless the controller requests flow statistics during one.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time

from tests.bench import native
from tests.bench import openflow as of
from tests.bench.model import Model

_lib: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """pump.c, built and loaded once."""
    global _lib
    if _lib is None:
        _lib = native.load()
    return _lib


class ControllerGoneError(RuntimeError):
    """The controller closed the connection, or never spoke OpenFlow on it."""


class Switch(Model):
    """A connection to the controller at 127.0.0.1:`port`, as datapath `dpid` of `ports` ports."""

    def __init__(self, port: int, *, dpid: int = 1, ports: int = 8) -> None:
        super().__init__(dpid, ports)
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pump = native.Pump()
        self._lib = library()
        self._lib.pump_init(self.pump, self._socket.fileno())
        self._send(of.message(of.HELLO, 1, struct.pack("!HHI", 1, 8, 1 << 4)))

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
            self._send(self.answer(ctypes.string_at(self.pump.other, self.pump.other_len)))

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

    def flows(self) -> list[of.FlowMod]:
        """The flows installed now."""
        size = self.pump.log_len
        if size:
            log = ctypes.string_at(self.pump.log, size)
            self.pump.log_len = 0
            at = 0
            while at < size:
                length = int.from_bytes(log[at + 2 : at + 4], "big")
                self.flow_mod(of.parse_flow_mod(log[at : at + length]))
                at += length
        return super().flows()

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

    def _send(self, data: bytes) -> None:
        self._lib.pump_queue(self.pump, data, len(data))
