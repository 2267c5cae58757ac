"""The fields of a flow's match on the wire (OXM, OpenFlow 1.3.5 7.2.3)."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ofapp.openflow.model.flow import VID_MASK

IN_PORT = 0x80000004
ETH_SRC = 0x80000806
ETH_DST = 0x80000606
VLAN_VID, VLAN_VID_MASKED = 0x80000C02, 0x80000D04
_OXM = struct.Struct("!I")


class AddressMatch(NamedTuple):
    """Match of either half of a learned address; unmatched fields are 0."""

    port: int
    vid: int
    source: int
    destination: int


def read_address_match(match: bytes) -> AddressMatch | None:
    """The fields of a learned address's flow; None when there are others among them."""
    port = vid = source = destination = 0
    for oxm, value in oxms(match):
        if oxm == IN_PORT:
            port = int.from_bytes(value, "big")
        elif oxm == ETH_SRC:
            source = int.from_bytes(value, "big")
        elif oxm == ETH_DST:
            destination = int.from_bytes(value, "big")
        elif oxm in (VLAN_VID, VLAN_VID_MASKED):
            vid = int.from_bytes(value[:2], "big") & VID_MASK
        else:
            return None
    return AddressMatch(port, vid, source, destination)


def oxms(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(header, value) of each OXM field; struct.error when one is cut short."""
    at = 0
    while at < len(data):
        (oxm,) = _OXM.unpack_from(data, at)
        end = at + 4 + (oxm & 0xFF)
        if end > len(data):
            raise struct.error("an OXM field is cut short")
        yield oxm, data[at + 4 : end]
        at = end


def sorted_match(match: bytes) -> bytes:
    """A match's fields in canonical order; ValueError when malformed."""
    try:
        return b"".join(oxm.to_bytes(4, "big") + value for oxm, value in sorted(oxms(match)))
    except struct.error as error:
        raise ValueError("a malformed match") from error
