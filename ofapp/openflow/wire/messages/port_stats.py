"""Port statistics of a switch (OpenFlow 1.3.5, 7.3.5.6), read at fixed offsets."""

from __future__ import annotations

import struct
from typing import Any

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.ports.count import PortCount
from ofapp.openflow.wire.channel import Channel

_STATS = struct.Struct("!I4x8Q32x8x")
_UNKNOWN = (1 << 64) - 1


def port_stats_request(channel: Channel, port: int = ofp.OFPP_ANY) -> Any:
    """Request the counters of one port, or of all."""
    return parser.OFPPortStatsRequest(channel, 0, port)


def read_port_stats(data: bytes) -> dict[int, PortCount]:
    """Counters by port number; ValueError when the last are cut short."""
    if len(data) % _STATS.size:
        raise ValueError(f"{len(data)} octets of port counters of {_STATS.size} each")
    found = {}
    for number, *counts in _STATS.iter_unpack(data):
        known = (None if count == _UNKNOWN else count for count in counts)
        found[number] = PortCount(*known)
    return found
