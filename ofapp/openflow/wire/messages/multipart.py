"""Reading the head of a multipart reply."""

import struct

from ofapp.osken import ofp

BODY = 16
"""Octets before the body."""

_HEAD = struct.Struct("!HH4x")


def has_more(reply: bytes) -> bool:
    """Whether more replies follow to the same question."""
    if reply[1] != ofp.OFPT_MULTIPART_REPLY or len(reply) < BODY:
        return False
    _, flags = _HEAD.unpack_from(reply, 8)
    return bool(flags & ofp.OFPMPF_REPLY_MORE)


def describes_ports(message: bytes) -> bool:
    """Whether it is a list of ports, or a part of one."""
    if message[1] != ofp.OFPT_MULTIPART_REPLY or len(message) < BODY:
        return False
    kind, _ = _HEAD.unpack_from(message, 8)
    return bool(kind == ofp.OFPMP_PORT_DESC)
