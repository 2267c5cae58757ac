"""A controller that decides nothing: two flow-mods for each packet-in, in C.

What the emulator reaches against it is the emulator's own ceiling; a controller measured near that
was limited by the generator.

    python -m bench.peers.null_controller PORT
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys

from tests.bench import openflow as of
from tests.bench.native import load


def _flow_mod(table: int, oxms: list[bytes], instructions: bytes, priority: int = 10) -> bytes:
    fixed = (0, 0, table, of.ADD, 0, 0, priority, 0xFFFFFFFF, of.ANY, of.ANY, 0)
    body = struct.pack("!QQBBHHHIIIH2x", *fixed) + of.match(*oxms) + instructions
    return of.message(of.FLOW_MOD, 0, body)


def _output(port: int) -> bytes:
    return struct.pack("!HH4xHHIH6x", 4, 24, 0, 16, port, 0xFFFF)


def main() -> None:
    """Serve one switch, then leave."""
    library = load()
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    switch, _ = listener.accept()
    switch.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hello = of.message(of.HELLO, 1, struct.pack("!HHI", 1, 8, 1 << 4))
    switch.sendall(hello + of.message(of.FEATURES_REQUEST, 2))
    switch.sendall(_flow_mod(0, [], _output(of.CONTROLLER), priority=0))
    mark = b"\2MAC\0\0"
    port = of.oxm(0, struct.pack("!I", 1))
    reply = _flow_mod(1, [port, of.oxm(4, mark)], _output(1))
    reply += _flow_mod(2, [of.oxm(3, mark)], _output(1))
    at = [i for i in range(len(reply)) if reply.startswith(mark, i)]
    positions = (ctypes.c_uint32 * len(at))(*at)
    library.null_serve(switch.fileno(), reply, len(reply), positions, len(at))


if __name__ == "__main__":
    main()
