"""A bare OpenFlow connection to a bridge: messages as this package makes them, no controller.

What a switch makes of a flow can so be seen without anything else of ofapp.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from types import TracebackType

from os_ken.ofproto import ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_flow_stats
from tests.support.ovs import Bridge

_HEADER = struct.Struct("!BBHI")
_PROTOCOL = ofproto_protocol.ProtocolDesc(version=ofp.OFP_VERSION)
_HELLO = _HEADER.pack(ofp.OFP_VERSION, ofp.OFPT_HELLO, 8, 1)


class Wire:
    """One connection.  AssertionError when the switch refuses something."""

    def __init__(self, bridge: Bridge) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(10)
        self._socket.connect(str(bridge.switch.dir / f"{bridge.name}.mgmt"))
        self._socket.sendall(_HELLO)

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def send(self, messages: Iterable[bytes]) -> None:
        """Send them and wait until the switch has carried them out."""
        self._socket.sendall(b"".join(messages))
        self.ask(parser.OFPBarrierRequest(_PROTOCOL), ofp.OFPT_BARRIER_REPLY)

    def flows(self, table: int = ofp.OFPTT_ALL) -> list[FlowStats]:
        """The flows of a table as the switch tells them."""
        request = parser.OFPFlowStatsRequest(
            _PROTOCOL, 0, table, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0, parser.OFPMatch()
        )
        replies = self.ask(request, ofp.OFPT_MULTIPART_REPLY)
        return [flow for reply in replies for flow in read_flow_stats(reply[16:])]

    def groups(self) -> list[parser.OFPGroupDescStats]:
        """The groups as the switch describes them."""
        replies = self.ask(parser.OFPGroupDescStatsRequest(_PROTOCOL), ofp.OFPT_MULTIPART_REPLY)
        return [entry for reply in replies for entry in _entries(reply)]

    def ask(self, request: object, kind: int) -> list[bytes]:
        self._socket.sendall(codec.serialize(request))
        replies = []
        while True:
            reply = self._receive()
            assert reply[1] != ofp.OFPT_ERROR, f"refused: {reply[8:].hex()}"
            if reply[1] == kind:
                replies.append(reply)
                more = kind == ofp.OFPT_MULTIPART_REPLY and reply[11] & ofp.OFPMPF_REPLY_MORE
                if not more:
                    return replies

    def _receive(self) -> bytes:
        head = self._exactly(8)
        return head + self._exactly(_HEADER.unpack(head)[2] - 8)

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._socket.recv(length - len(data))
            assert more, "the switch hung up"
            data += more
        return data


def _entries(reply: bytes) -> list[parser.OFPGroupDescStats]:
    head = _HEADER.unpack_from(reply)
    body: list[parser.OFPGroupDescStats] = parser.OFPMultipartReply.parser(
        _PROTOCOL, *head, bytearray(reply)
    ).body
    return body
