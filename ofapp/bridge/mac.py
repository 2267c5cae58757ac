"""MAC addresses as 48-bit integers.

The forwarding database holds a hundred thousand of them and the packet-in path compares them by
the ten thousand a second: an int is the smallest and fastest form.  Text appears at the edges only.
"""

import re

BROADCAST = MAC_MASK = 0xFFFFFFFFFFFF
_GROUP_BIT = 1 << 40
_OCTET = "[0-9a-fA-F]{1,2}"
_TEXT = re.compile(
    rf"{_OCTET}([:-])(?:{_OCTET}\1){{4}}{_OCTET}|(?:[0-9a-fA-F]{{4}}[.]){{2}}[0-9a-fA-F]{{4}}|[0-9a-fA-F]{{12}}"
)


def parse_mac(text: str) -> int:
    """`aa:bb:cc:dd:ee:ff` to an int; ValueError for anything else.

    Dashes may stand for the colons; `aabb.ccdd.eeff` and `aabbccddeeff` are read as well.
    """
    if not is_mac(text):
        raise ValueError(f"{text!r} is not a MAC address such as 52:54:00:12:34:56")
    return int("".join(part.zfill(2) for part in re.split("[:.-]", text)), 16)


def is_mac(text: str) -> bool:
    """Whether `parse_mac` takes it."""
    return _TEXT.fullmatch(text) is not None


def format_mac(mac: int) -> str:
    """An int to `aa:bb:cc:dd:ee:ff`."""
    return mac.to_bytes(6, "big").hex(":")


def is_group(mac: int) -> bool:
    """True for multicast and broadcast addresses (IEEE 802-2014 8.2, the I/G bit)."""
    return bool(mac & _GROUP_BIT)
