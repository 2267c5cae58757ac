"""Several changes as one: a switch applies a bundle's flows and groups together or not at all.

OpenFlow has bundles from version 1.4 on; for 1.3 they are ONF's extension EXT-230, which Open
vSwitch speaks.  No frame ever meets half of a new configuration.  Meters cannot be part of one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import count

from os_ken.ofproto import ofproto_v1_3 as ofp

_ONF = 0x4F4E4600
_CONTROL, _ADD = 2300, 2301
_OPEN, _COMMIT = 0, 4
_ATOMIC, _ORDERED = 1, 2
_FLAGS = _ATOMIC | _ORDERED
_MAX_BODY = 0xFFFF - 24

_numbers = count(1)


def wrap(messages: Iterable[bytes]) -> bytes:
    """The messages as one bundle; nothing for none, and one alone needs no wrapping."""
    body = list(messages)
    if len(body) < 2 or any(len(message) > _MAX_BODY for message in body):
        return b"".join(body)
    number = next(_numbers) & 0xFFFFFFFF
    opened, committed = (_control(number, kind) for kind in (_OPEN, _COMMIT))
    return b"".join([opened, *(_add(number, message) for message in body), committed])


def _control(number: int, kind: int) -> bytes:
    return _message(_CONTROL, struct.pack("!IHH", number, kind, _FLAGS))


def _add(number: int, message: bytes) -> bytes:
    return _message(_ADD, struct.pack("!IHH", number, 0, _FLAGS) + message)


def _message(kind: int, body: bytes) -> bytes:
    head = struct.pack("!BBHI", ofp.OFP_VERSION, ofp.OFPT_EXPERIMENTER, 16 + len(body), 0)
    return head + struct.pack("!II", _ONF, kind) + body
