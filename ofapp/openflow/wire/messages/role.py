"""A request for a role at a switch, and the reply (OpenFlow 1.3.5, 7.3.9)."""

from __future__ import annotations

import struct
from typing import Any

from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RequestError

_REPLY = struct.Struct("!8xI4xQ")


def role_request(channel: Channel, role: int, generation: int = 0) -> Any:
    """A role request, by OpenFlow's number of the role."""
    return parser.OFPRoleRequest(channel, role, generation)


def read_role(reply: bytes) -> tuple[int, int]:
    """(role, generation_id); RequestError."""
    if len(reply) < _REPLY.size:
        raise RequestError("a role reply is cut short")
    role, generation = _REPLY.unpack_from(reply)
    return role, generation
