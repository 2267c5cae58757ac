"""Verdicts on DHCP messages, and their changes of bindings."""

from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Origin


class Leased(NamedTuple):
    """A server grants an address or prefix (RFC 7513 6.4.2.1: by ACK or Reply alone).

    port: the number of the port that the request came in by; None where no request was seen, as
    before a restart of the controller: the host is then known by its MAC address alone.
    lifetime: seconds; None for an infinite one.
    client: what the server knows the client by, besides its MAC address (`client_of`).
    """

    port: int | None
    vid: int
    mac: int
    address: BoundAddress
    lifetime: float | None
    origin: Origin
    client: bytes = b""


def client_of(*parts: bytes) -> bytes:
    """Name a client by what distinguishes it for a server, in 8 octets.

    For DHCPv4 this is the client identifier (option 61), for DHCPv6 the DUID and the identity
    association: one host can be many clients, each of which gets an address.
    """
    return blake2b(b"".join(parts), digest_size=8).digest()


class Cause(Enum):
    """Why a lease ends before its time."""

    RELEASE = "release"
    DECLINE = "decline"
    NAK = "nak"
    WITHDRAWN = "withdrawn"  # the server sends a lifetime of 0 (RFC 8415 18.2.10.1)


class Ended(NamedTuple):
    """A lease ends before its time; it concerns a binding of this MAC address only.

    port: that the message, or the request that it answers, came in by; None where it is not known.
    """

    port: int | None
    vid: int
    mac: int
    address: BoundAddress
    cause: Cause
    origin: Origin


class Verdict(NamedTuple):
    """Verdict on one frame.

    frame: to forward, rewritten where necessary; None where it is dropped.
    reason: why it is dropped, the name of the counter; empty where it is forwarded.
    facts: what it says about bindings.  They come before the frame is forwarded.
    source: the IP source address of a client's message that is forwarded; whether the client may
    use it is not verified here.  None for 0.0.0.0.
    renews: that source is the address which the message is about (ciaddr).
    asks: the clients for which a message asks for addresses, by origin and `client_of`.
    """

    frame: bytes | None
    reason: str = ""
    facts: tuple[Leased | Ended, ...] = ()
    source: bytes | None = None
    asks: tuple[tuple[Origin, bytes], ...] = ()
    renews: bool = False
