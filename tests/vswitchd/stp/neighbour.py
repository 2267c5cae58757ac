"""What a neighbour of the bridge says: BPDUs written by hand."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable

from tests.support import frames
from tests.support.ovs import Bridge

TC, PROPOSAL, ROOT, DESIGNATED, LEARNING, FORWARDING, AGREEMENT = 1, 2, 8, 12, 16, 32, 64


def rst(
    flags: int = DESIGNATED,
    *,
    root: int = 0xF000,
    cost: int = 0,
    number: int = 1,
    times: tuple[float, float, float, float] = (0, 6, 1, 4),
) -> bytes:
    """An RST BPDU (802.1D-2004 9.3.3) of the bridge `number` about a root of that priority."""
    address = frames.mac(f"02:bb:00:00:00:{number:02x}")
    root_id = struct.pack("!H", root) + frames.mac("02:bb:00:00:00:01")
    bridge_id = struct.pack("!H", max(root, 0x1000 * (number - 1))) + address
    body = struct.pack("!HBBB", 0, 2, 2, flags) + root_id + struct.pack("!I", cost) + bridge_id
    body += struct.pack("!HHHHH", 0x8001, *(int(t * 256) for t in times)) + b"\0"
    return frames.llc(frames.BPDU_GROUP, f"02:bb:00:00:00:{number:02x}", body)


def config(age: float) -> bytes:
    """A Configuration BPDU (9.3.1) that has been on its way for so many seconds."""
    body = bytes.fromhex("0000000000") + bytes(8) + bytes(4) + bytes(8)
    body += struct.pack("!HHHHH", 0x8001, *(int(t * 256) for t in (age, 6, 1, 4)))
    return frames.llc(frames.BPDU_GROUP, frames.host(9), body)


INFERIOR = rst(root=0xF000)
SUPERIOR = rst(DESIGNATED | LEARNING | FORWARDING, root=0)


class Neighbour:
    """Says the same again and again, and lets the switch's clock pass meanwhile."""

    def __init__(self, bridge: Bridge, said: dict[int, bytes], interval: float = 0.3) -> None:
        self._bridge = bridge
        self._said = said
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._speak)

    def __enter__(self) -> Neighbour:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def silence(self, port: int) -> None:
        self._said.pop(port)

    def says(self, port: int, frame: bytes) -> None:
        self._said[port] = frame

    def _speak(self) -> None:
        switch = self._bridge.switch
        while True:
            for port, frame in list(self._said.items()):
                switch.appctl("netdev-dummy/receive", self._bridge.port_name(port), frame.hex())
            switch.appctl("time/warp", str(int(self._interval * 1000)))
            if self._stop.wait(self._interval):
                return


def alongside(bridge: Bridge) -> Callable[[], None]:
    """Let a little of the switch's time pass with each look."""
    return lambda: bridge.switch.appctl("time/warp", "10") and None
