"""Reading FLOW_REMOVED: an address has aged out, or a flow was deleted."""

import re
import struct
from typing import NamedTuple

from ofapp.openflow.model.cookie import APP, Feature, make_cookie
from ofapp.openflow.model.flow import VID_MASK
from ofapp.openflow.wire.messages.oxm import ETH_SRC, IN_PORT, VLAN_VID_MASKED, read_address_match
from ofapp.osken import ofp

_LEARNED_PREFIX = make_cookie(Feature.LEARNED).to_bytes(8, "big")[:4]


class Expired(NamedTuple):
    """A learned address that the datapath has aged out."""

    vid: int
    mac: int
    serial: int


_IDLE_TIMEOUT, _HARD_TIMEOUT = 0, 1  # OFPRR_
_OURS = APP.to_bytes(2, "big")
_FIXED = re.compile(rb"[\x00-\x7f]")  # features without `LEARNED_BIT`
# As Open vSwitch words it, from the cookie (offset 8) on: in_port, eth_src and VLAN are matched.
_AGED_OUT = struct.Struct("!4xI32xII4xIHIIH")
_AGED_OUT_HEADERS = (1 << 16 | 30, IN_PORT, ETH_SRC, VLAN_VID_MASKED)
_AGED_OUT_LENGTH = 8 + _AGED_OUT.size


def is_learned_notice(data: bytes, at: int) -> bool:
    """Whether the FLOW_REMOVED at this offset is about a learned address."""
    return data[at + 8 : at + 12] == _LEARNED_PREFIX


def first_fixed(data: bytes, at: int, length: int, count: int) -> int | None:
    """The first of `count` FLOW_REMOVED of equal length that is about no learned address."""
    found = _FIXED.search(data[at + 10 : at + count * length : length])
    return None if found is None else found.start()


def is_deletion(type_: int, message: bytes) -> bool:
    """Whether it is a FLOW_REMOVED for a flow of ours that was deleted, maybe by us."""
    if type_ != ofp.OFPT_FLOW_REMOVED or len(message) < 56 or message[8:10] != _OURS:
        return False
    return message[18] not in (_IDLE_TIMEOUT, _HARD_TIMEOUT)


def read_flow_removed(data: bytes, at: int, length: int) -> Expired | None:
    """Read a FLOW_REMOVED about a learned address.

    None when it has no news: a flow that we deleted ourselves, or a malformed message (the next
    sweep finds out).
    """
    if length < 56:
        return None
    if data[at + 18] != _IDLE_TIMEOUT:
        return None
    if length >= _AGED_OUT_LENGTH:
        serial, head, port, source, high, low, vlan, vid = _AGED_OUT.unpack_from(data, at + 8)
        if (head, port, source, vlan) == _AGED_OUT_HEADERS:
            return Expired(vid & VID_MASK, high << 32 | low, serial)
    serial = int.from_bytes(data[at + 12 : at + 16], "big")
    try:
        (match_length,) = struct.unpack_from("!H", data, at + 50)
        fields = read_address_match(data[at + 52 : at + 48 + match_length])
    except struct.error:
        return None
    if fields is None:
        return None
    return Expired(fields.vid, fields.source, serial)
