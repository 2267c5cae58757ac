"""Messages to a switch by its local socket, beside its controllers."""

from __future__ import annotations

import socket
import struct

from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats
from tests.support.ovs import Bridge

_ALL_FLOWS = struct.pack(
    "!BBHIHH4xB3xII4xQQHH4x", 4, 18, 56, 1, 1, 0, 255, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0, 1, 4
)
_ERROR, _REPLY, _MORE = 1, 19, 1


def exchange(bridge: Bridge, messages: bytes) -> list[FlowStats]:
    """Send messages, and give all flows then; no error may come."""
    flows: list[FlowStats] = []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(bridge.switch.dir / f"{bridge.name}.mgmt"))
        connection.sendall(struct.pack("!BBHI", 4, 0, 8, 1) + messages + _ALL_FLOWS)
        waiting = b""
        while chunk := connection.recv(65536):
            waiting += chunk
            while len(waiting) >= 8:
                _, kind, length, _ = struct.unpack_from("!BBHI", waiting)
                if len(waiting) < length:
                    break
                message, waiting = waiting[:length], waiting[length:]
                assert kind != _ERROR, message.hex()
                if kind == _REPLY:
                    flows += read_flow_stats(message[16:])
                    if not message[11] & _MORE:
                        return flows
    raise AssertionError("the switch hung up")
