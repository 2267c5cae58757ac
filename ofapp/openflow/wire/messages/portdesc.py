"""Ports as a switch describes them.

Not with os-ken's objects: a thousand switches that come at once describe ten thousand ports, twice
each, and most of what an object costs is the text of an address that is made a number again.
"""

import struct
from collections.abc import Callable

from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages.multipart import BODY, has_more
from ofapp.openflow.wire.requests import MOST_PORTS, RequestError, replies
from ofapp.osken import ofp, parser

_PORT = struct.Struct("!I4x6s2x16sIIIIIIII")
_HALF_DUPLEX = ofp.OFPPF_10MB_HD | ofp.OFPPF_100MB_HD | ofp.OFPPF_1GB_HD
_SPEEDS = (1 << 10) - 1
"""All bits of speeds: OFPPF_10MB_HD to OFPPF_1TB_FD (OpenFlow 1.3.5, 7.2.1)."""
_CLOSED = {
    ofp.OFPPC_NO_RECV: "receive",
    ofp.OFPPC_NO_FWD: "forward",
    ofp.OFPPC_NO_PACKET_IN: "packet-in",
}
"""What a bit of a port's configuration closes, as ovs-ofctl mod-port calls it."""
_STATUS = 16  # octets before the port in a port status


def ask_ports(channel: Channel, heard: Callable[[list[Port]], None] | None = None) -> list[Port]:
    """All ports of a switch.  Raises RequestError.

    heard: gets them at the place in the stream where their list ends: a port status behind it must
    not be undone.
    """
    ports: list[Port] = []
    faults: list[Exception] = []

    def arrived(reply: bytes) -> None:
        if reply[1] == ofp.OFPT_ERROR:
            return
        try:
            ports.extend(read_ports(reply[BODY:]))
            if heard is not None and not has_more(reply):
                heard(ports)
        except Exception as error:  # raised in the requester, as any fault of an answer
            faults.append(error)

    request = parser.OFPPortDescStatsRequest(channel, 0)
    for _ in replies(channel, request, arrived=arrived, most=MOST_PORTS):
        pass
    if faults:
        raise RequestError(f"a malformed list of ports: {faults[0]!r}")
    return ports


def local_name(channel: Channel) -> str | None:
    """The name of the LOCAL port, which is the bridge's; None without one.  Raises RequestError."""
    return next((port.name for port in ask_ports(channel) if port.number == LOCAL_PORT), None)


def read_port_status(message: bytes) -> tuple[bool, Port]:
    """Whether the port is gone, and as it is or was.  Raises ValueError."""
    if len(message) < _STATUS + _PORT.size:
        raise ValueError(f"a port status of {len(message)} octets")
    return message[8] == ofp.OFPPR_DELETE, _port(*_PORT.unpack_from(message, _STATUS))


def read_ports(data: bytes) -> list[Port]:
    """The ports that `data` describes; ValueError when the last is cut short."""
    if len(data) % _PORT.size:
        raise ValueError(f"{len(data)} octets of ports of {_PORT.size} each")
    return [_port(*fields) for fields in _PORT.iter_unpack(data)]


def _port(number: int, address: bytes, name: bytes, config: int, state: int, *more: int) -> Port:
    current, _advertised, _supported, _peer, speed, fastest = more
    up = not state & ofp.OFPPS_LINK_DOWN and not config & ofp.OFPPC_PORT_DOWN
    if up and current and not current & _SPEEDS:
        # Open vSwitch up to 3.2 has no bit for 2.5, 5, 20, 25, 50, 200 and 400 Gbit/s: the port
        # is then at least as fast as the fastest other speed that it supports.
        speed = speed or fastest
    return Port(
        number,
        name.rstrip(b"\0").decode("utf-8", "replace"),
        int.from_bytes(address, "big"),
        up,
        speed // 1000,
        not current & _HALF_DUPLEX,
        bool(state & ofp.OFPPS_LIVE),
        closed=tuple(name for bit, name in _CLOSED.items() if config & bit) if config else (),
    )
