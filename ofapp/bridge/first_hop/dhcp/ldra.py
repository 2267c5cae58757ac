"""A lightweight DHCPv6 relay agent (RFC 6221): which port a client's message came in by.

It adds the client's MAC address as well (RFC 6939).  It needs no IP address: a Relay-forward
message keeps the client's addresses, so the Relay-reply message comes back to the client's.
"""

from ofapp.bridge.first_hop.dhcp.dhcpv6 import (
    CLIENT_LINK_LAYER,
    CLIENT_PORT,
    INTERFACE_ID,
    RELAY_FORWARD,
    RELAY_MESSAGE,
    SERVER_PORT,
    Relayed,
    option,
)
from ofapp.bridge.packet.address import ANY6
from ofapp.bridge.packet.udp import Datagram, with_payload

_ETHERNET = b"\x00\x01"


def relay(frame: bytes, datagram: Datagram, interface: bytes) -> bytes | None:
    """Make the frame of a Relay-forward message with a client's message (RFC 6221 5.1, 6.1).

    interface: the value of its Interface-ID option.  None if it would be too long.
    """
    packet = datagram.packet
    message = frame[datagram.at : datagram.end]
    payload = b"".join(
        (
            bytes((RELAY_FORWARD, 0)),
            ANY6,
            packet.source,
            option(CLIENT_LINK_LAYER, _ETHERNET + packet.ethernet.mac.to_bytes(6, "big")),
            option(INTERFACE_ID, interface),
            option(RELAY_MESSAGE, message),
        )
    )
    return with_payload(frame, datagram, payload, (SERVER_PORT, SERVER_PORT))


def unwrap(frame: bytes, datagram: Datagram, relayed: Relayed) -> bytes:
    """Make the frame of the server's message to a client from a Relay-reply message (6.2)."""
    made = with_payload(frame, datagram, relayed.message, (SERVER_PORT, CLIENT_PORT))
    assert made is not None, "what was inside of a message is not longer"
    return made
