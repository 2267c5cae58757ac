"""Names that hosts give themselves in DHCP requests: option 12 of DHCPv4, option 39 of DHCPv6.

A host may give any name, also one of another host.  So a name is for display alone, as the host's
own statement.  Names with characters other than those of host names (RFC 1123 2.1, and the
underscore) are refused: names are shown in terminals and on the page.
"""

import re

from ofapp.bridge.first_hop.dhcp.quota import PortQuota

OF_PORT, OF_BRIDGE = 256, 8192
"""Most names of a port and of a bridge; the oldest one of the port or of the bridge makes room."""
LONGEST = 63
"""Most characters."""

_NAME = re.compile(rb"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")


class HostNames:
    """Names by MAC address.  refused: names with other characters, or too long ones."""

    def __init__(self) -> None:
        self.refused = 0
        self._names: PortQuota[int, str] = PortQuota(OF_PORT, OF_BRIDGE)

    def put(self, port: int, mac: int, name: bytes | None) -> None:
        """Note the name that a host on a port gives; None or empty: it gives none."""
        if not name:
            return
        name = name.rstrip(b"\0")
        if len(name) > LONGEST or not _NAME.fullmatch(name):
            self.refused += 1
            return
        self._names.put(mac, port, name.decode("ascii"))

    def of(self, mac: int) -> str | None:
        """The name of a host; None if none is known."""
        return self._names.get(mac)

    def all(self) -> dict[int, str]:
        """All names by MAC address."""
        return dict(self._names)


def fqdn(value: bytes) -> bytes | None:
    """The name in option 39 (RFC 4704 4.2), its labels joined by dots; None if it is malformed.

    value: a flags octet and a domain name in wire format, which may lack the final empty label.
    """
    labels: list[bytes] = []
    at = 1
    while at < len(value) and value[at]:
        end = at + 1 + value[at]
        if value[at] > LONGEST or end > len(value):
            return None
        labels.append(value[at + 1 : end])
        at = end
    return b".".join(labels) if len(value) > 1 else None
