"""EtherTypes that hosts of a port may send: the words of `PortParams.ethertypes`."""

import re
from collections.abc import Mapping
from functools import cache

from ofapp.bridge.params.parameter import Form, Items

LLC = 0x05FF
"""Stands for frames with an 802.2 header, which have a length in place of a type.  Open vSwitch
shows such frames so; SNAP frames of Ethernet types have their type."""
LOWEST, HIGHEST = 0x0600, 0xFFFF
MOST = 32
"""Most names and numbers in a list."""

NAMES: Mapping[str, tuple[int, ...]] = {
    "ip": (0x0800, 0x0806, 0x8035, 0x86DD),
    "ipv4": (0x0800,),
    "arp": (0x0806,),
    "rarp": (0x8035,),
    "ipv6": (0x86DD,),
    "pppoe": (0x8863, 0x8864),
    "pppoe-discovery": (0x8863,),
    "pppoe-session": (0x8864,),
    "mpls": (0x8847, 0x8848),
    "wake-on-lan": (0x0842,),
    "profinet": (0x8892,),
    "aoe": (0x88A2,),
    "fcoe": (0x8906, 0x8914),
    "ptp": (0x88F7,),
    "loopback": (0x9000,),
    "llc": (LLC,),
}
"""Numbers by name; `ip` are ARP, RARP, IPv4 and IPv6."""

_NUMBER = "0x(0[6-9a-fA-F]|[1-9a-fA-F][0-9a-fA-F])[0-9a-fA-F]{2}"
_ITEM = f"({'|'.join(NAMES)}|{_NUMBER})"
_LIST = f"(all|{_ITEM}(,{_ITEM}){{0,{MOST - 1}}})"


def _fits(text: str) -> bool:
    return re.fullmatch(_LIST, text) is not None


FORM = Form(
    f"all, or up to {MOST} with commas between them of {', '.join(NAMES)}, and numbers from 0x0600"
    " to 0xffff",
    _fits,
    f"^{_LIST}$",
    Items(f"^{_ITEM}$", LOWEST, HIGHEST, MOST),
)
"""All EtherTypes, or those of a list."""


@cache
def admitted(words: str) -> frozenset[int] | None:
    """The EtherTypes in `words`, `LLC` among them; None for all."""
    if words == "all":
        return None
    types: set[int] = set()
    for word in words.split(","):
        types.update(NAMES.get(word) or (int(word, 16),))
    return frozenset(types)


def named(ethertype: int) -> str:
    """The word for an EtherType in such a list: its name, or its number."""
    return next((name for name, of in NAMES.items() if of == (ethertype,)), f"0x{ethertype:04x}")
