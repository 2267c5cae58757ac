"""The relay agent information option, option 82 (RFC 3046): inserted and removed.

The bridge is not a relay agent: giaddr stays 0.  A server or relay agent must take the option from
such a bridge (RFC 3046 2.1, "trusted circuit").
"""

from ofapp.bridge.first_hop.dhcp.bootp import (
    COOKIE,
    END,
    FILE,
    OPTIONS,
    RELAY_INFO,
    SNAME,
    Bootp,
    walk,
)

_CIRCUIT, _REMOTE = 1, 2
_SHORTEST = 300
"""Octets of the shortest BOOTP message (RFC 951 3, RFC 1542 2.1)."""


def relay_info(circuit: bytes, remote: bytes) -> bytes:
    """The octets of the option: agent circuit ID and agent remote ID (RFC 3046 3.1, 3.2)."""
    value = bytes((_CIRCUIT, len(circuit))) + circuit + bytes((_REMOTE, len(remote))) + remote
    return bytes((RELAY_INFO, len(value))) + value


def remote_of(data: bytes) -> bytes | None:
    """The agent remote ID of a message; None where it has none, or the option is malformed."""
    whole = b"".join([octets[2:] for code, octets in walk(data[OPTIONS:]) if code == RELAY_INFO])
    at = 0
    while at + 2 <= len(whole):
        after = at + 2 + whole[at + 1]
        if whole[at] == _REMOTE:
            return whole[at + 2 : after]
        at = after
    return None


def with_relay_info(data: bytes, message: Bootp, option: bytes = b"") -> bytes:
    """Make the message with this option 82, or without any.

    It is the last option (RFC 3046 2.1).  The options of the message must be well-formed.
    """
    kept = [octets for code, octets in walk(data[OPTIONS:]) if code != RELAY_INFO]
    head = bytearray(data[: OPTIONS - len(COOKIE)])
    for bit, field in ((1, FILE), (2, SNAME)):
        if message.overload & bit:
            head[field] = _without(bytes(head[field]))
    made = b"".join((head, COOKIE, *kept, option, bytes((END,))))
    return made.ljust(_SHORTEST, b"\0")


def _without(area: bytes) -> bytes:
    """An overloaded field of the same size without option 82."""
    options = [*walk(area)]
    kept = [octets for code, octets in options if code != RELAY_INFO]
    if len(kept) == len(options):
        return area
    return b"".join((*kept, bytes((END,)))).ljust(len(area), b"\0")
