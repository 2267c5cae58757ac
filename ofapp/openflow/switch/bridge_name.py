"""What a switch calls itself, for a configuration that speaks of bridges by name."""

from __future__ import annotations

from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.ports import LOCAL_PORT
from ofapp.openflow.switch.reconciler import read_port
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import MOST_PORTS, RequestError, parsed


def local_name(channel: Channel) -> str | None:
    """The name of the LOCAL port, which is the bridge's; None without one; RequestError."""
    request = parser.OFPPortDescStatsRequest(channel, 0)
    try:
        ports = map(read_port, parsed(channel, request, most=MOST_PORTS))
        return next((port.name for port in ports if port.number == LOCAL_PORT), None)
    except ValueError as error:
        raise RequestError(f"a port that cannot be: {error}") from None
