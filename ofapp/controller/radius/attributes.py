"""Attributes of RADIUS packets: their numbers, and what their values mean.

An attribute goes by its number, so no dictionary is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from ofapp.bridge.port_access.answer import UNCLEAR, Answer, Egress

_WISPR = (14122).to_bytes(4, "big")
_MAX_UP, _MAX_DOWN = 7, 8
"""WISPr-Bandwidth-Max-Up and -Down in bit/s (Wi-Fi Alliance, "Best Current Practices for Wireless
ISP Roaming"): most that comes from the host and goes to it."""
MOST_CLASSES = 8
"""Class attributes of a session that are kept."""
_VLAN, _IEEE_802 = 13, 6
_AGAIN = 1
_TAGGED, _UNTAGGED = b"12"
"""First octet of the attributes of RFC 4675 2.1 and 2.3."""
_NO_VLAN = "?"
"""A VLAN that cannot be read, and so does not exist."""
_NO_EGRESS = Egress(False, _NO_VLAN)


class Attribute(IntEnum):
    """Numbers of attributes (RFC 2865 5, 2866 5, 2868 3, 2869 5, 3162 2, 3579 3, 4675 2)."""

    USER_NAME = 1
    USER_PASSWORD = 2
    NAS_PORT = 5
    SERVICE_TYPE = 6
    FRAMED_IP_ADDRESS = 8
    FILTER_ID = 11
    FRAMED_MTU = 12
    REPLY_MESSAGE = 18
    STATE = 24
    CLASS = 25
    VENDOR_SPECIFIC = 26
    SESSION_TIMEOUT = 27
    TERMINATION_ACTION = 29
    CALLED_STATION_ID = 30
    CALLING_STATION_ID = 31
    NAS_IDENTIFIER = 32
    ACCT_STATUS_TYPE = 40
    ACCT_DELAY_TIME = 41
    ACCT_SESSION_ID = 44
    ACCT_SESSION_TIME = 46
    ACCT_TERMINATE_CAUSE = 49
    ACCT_MULTI_SESSION_ID = 50
    EVENT_TIMESTAMP = 55
    EGRESS_VLANID = 56
    EGRESS_VLAN_NAME = 58
    NAS_PORT_TYPE = 61
    TUNNEL_TYPE = 64
    TUNNEL_MEDIUM_TYPE = 65
    EAP_MESSAGE = 79
    MESSAGE_AUTHENTICATOR = 80
    TUNNEL_PRIVATE_GROUP_ID = 81
    NAS_PORT_ID = 87
    FRAMED_INTERFACE_ID = 96
    FRAMED_IPV6_PREFIX = 97
    ERROR_CAUSE = 101


class Values:
    """The values of one packet, without those that have parts."""

    def __init__(self, items: Mapping[Any, Any]) -> None:
        self._values = {key: value for key, value in items.items() if isinstance(value, list)}

    def all(self, key: Attribute) -> Sequence[bytes]:
        """All values of an attribute."""
        return self._values.get(key, ())

    def joined(self, key: Attribute) -> bytes:
        """A value that is longer than one attribute."""
        return b"".join(self.all(key))

    def number(self, key: Attribute) -> int | None:
        """A value of 32 bits; None without one, `UNCLEAR` for several or no number."""
        return _number(self.all(key))

    def text(self, key: Attribute) -> str | None:
        """The first value as text; None without one."""
        values = self.all(key)
        return text(values[0]) if values else None

    def answer(self, verdict: Any, **more: Any) -> Answer:
        """What the packet says about a session's time and rights, and more."""
        return Answer(
            verdict,
            vlan=self._vlan(),
            timeout=self.number(Attribute.SESSION_TIMEOUT) or None,
            again=self.number(Attribute.TERMINATION_ACTION) == _AGAIN,
            egress=(
                *map(_egress_vlanid, self.all(Attribute.EGRESS_VLANID)),
                *map(_egress_vlan_name, self.all(Attribute.EGRESS_VLAN_NAME)),
            ),
            filters=tuple(map(text, self.all(Attribute.FILTER_ID))),
            up=self._rate(_MAX_UP),
            down=self._rate(_MAX_DOWN),
            **more,
        )

    def _rate(self, kind: int) -> int | None:
        """Bits per second; None without a rate or for 0, `UNCLEAR` for several or no number."""
        return _number(self._of_vendor(_WISPR, kind)) or None

    def _of_vendor(self, vendor: bytes, kind: int) -> Iterator[bytes]:
        """The values of an attribute of a vendor (RFC 2865 5.26); empty where one has no end."""
        for values in self.all(Attribute.VENDOR_SPECIFIC):
            rest = values[4:] if values[:4] == vendor else b""
            while len(rest) >= 2 and 2 <= rest[1] <= len(rest):
                if rest[0] == kind:
                    yield rest[2 : rest[1]]
                rest = rest[rest[1] :]
            if rest[:1] == bytes([kind]):
                yield b""

    def _vlan(self) -> str:
        """The VLAN of a tunnel that is one (RFC 3580 3.31): VID or name, empty for none.

        Attributes of one tunnel have the same tag; the tag 0 may be left out of a text.  A VLAN
        beside a number of another length does not exist.
        """
        tunnels: dict[int, dict[int, int]] = {}
        for key in (Attribute.TUNNEL_TYPE, Attribute.TUNNEL_MEDIUM_TYPE):
            for value in self.all(key):
                if len(value) != 4:
                    return _NO_VLAN if self.all(Attribute.TUNNEL_PRIVATE_GROUP_ID) else ""
                tunnels.setdefault(value[0], {})[key] = int.from_bytes(value[1:], "big")
        wanted = {Attribute.TUNNEL_TYPE: _VLAN, Attribute.TUNNEL_MEDIUM_TYPE: _IEEE_802}
        for value in self.all(Attribute.TUNNEL_PRIVATE_GROUP_ID):
            tagged = bool(value) and value[0] <= 0x1F
            tag, name = (value[0], value[1:]) if tagged else (0, value)
            if tunnels.get(tag) == wanted:
                return text(name)
        return ""


def text(octets: bytes) -> str:
    """A text of a server; what cannot be printed is escaped or a blank."""
    decoded = octets.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else " " for char in decoded).strip()


def _number(values: Iterable[bytes]) -> int | None:
    """The number of 32 bits; None without one, `UNCLEAR` for several or no number."""
    found = {*values}
    if not found:
        return None
    octets = found.pop()
    return UNCLEAR if found or len(octets) != 4 else int.from_bytes(octets, "big")


def _egress_vlanid(value: bytes) -> Egress:
    if len(value) != 4 or value[0] not in (_TAGGED, _UNTAGGED):
        return _NO_EGRESS
    return Egress(value[0] == _TAGGED, str(int.from_bytes(value[2:], "big") & 0xFFF))


def _egress_vlan_name(value: bytes) -> Egress:
    if len(value) < 2 or value[0] not in (_TAGGED, _UNTAGGED):
        return _NO_EGRESS
    return Egress(value[0] == _TAGGED, text(value[1:]))
