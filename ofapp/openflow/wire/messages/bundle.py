"""Bundles: a switch applies the flows and groups of one together or not at all.

OpenFlow has bundles from version 1.4 on; for 1.3 they are ONF's extension EXT-230, which Open
vSwitch speaks.  No frame ever meets half of a new configuration.  Meters cannot be part of one.
"""

import struct
from collections.abc import Sequence
from itertools import count

from ofapp.common.portions import AT_ONCE, Portions
from ofapp.osken import ofp

_ONF = 0x4F4E4600
_CONTROL, _ADD = 2300, 2301
_OPEN, _COMMIT = 0, 4
_ATOMIC, _ORDERED = 1, 2
_FLAGS = _ATOMIC | _ORDERED
_MAX_BODY = 0xFFFF - 24

LEARNED = 0x0FA90000
"""The number of every bundle of learned addresses: one is committed before the next is opened."""

_WHOLE, _PART = (struct.pack("!II", _ONF, kind) for kind in (_CONTROL, _ADD))
_numbers = count(1)


def wrap(messages: Sequence[bytes], portions: Portions = AT_ONCE) -> bytes:
    """The messages as one bundle; nothing for none, and one alone needs no wrapping."""
    if len(messages) < 2 or any(len(message) > _MAX_BODY for message in messages):
        return b"".join(messages)
    number = next(_numbers) & 0xFFFFFFFF
    opened, committed = frame(number)
    parts = [add(number, message) for message in portions.of(messages)]
    return b"".join([opened, *parts, committed])


def frame(number: int) -> tuple[bytes, bytes]:
    """The messages that open a bundle, and commit it."""
    return _control(number, _OPEN), _control(number, _COMMIT)


def add(number: int, message: bytes) -> bytes:
    """A message, with transaction id 0 as all here, as part of a bundle."""
    return _message(_ADD, struct.pack("!IHH", number, 0, _FLAGS) + message)


def is_part(message: bytes) -> bool:
    """Whether an experimenter message, or its beginning, is what `add` makes."""
    return message[8:16] == _PART


def part(message: bytes) -> bytes:
    """The message inside such a message."""
    return message[24:]


def is_reply(message: bytes) -> bool:
    """Whether an experimenter message is about opening or committing a bundle."""
    return message[8:16] == _WHOLE


def is_of(number: int, message: bytes) -> bool:
    """Whether an experimenter message is about the bundle of that number."""
    return is_reply(message) and message[16:20] == number.to_bytes(4, "big")


def _control(number: int, kind: int) -> bytes:
    return _message(_CONTROL, struct.pack("!IHH", number, kind, _FLAGS))


def _message(kind: int, body: bytes) -> bytes:
    head = struct.pack("!BBHI", ofp.OFP_VERSION, ofp.OFPT_EXPERIMENTER, 16 + len(body), 0)
    return head + struct.pack("!II", _ONF, kind) + body
