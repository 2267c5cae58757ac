"""DHCP snooping: what becomes of each message, and which leases it grants or ends."""

from __future__ import annotations

from collections import Counter

from ofapp.bridge.first_hop.dhcp.verdict import Verdict
from ofapp.bridge.ports.port import Port


class DhcpSnooping:
    """DHCPv4 and DHCPv6 of one bridge.  It knows the requests of the last minute, and no bindings.

    relay_options: `remove`, `insert` or `keep`, see `params.BridgeParams.relay_options`.
    counters: messages that were dropped, by reason; options inserted and removed.
    """

    def __init__(self, bridge: str, relay_options: str = "remove") -> None:
        """bridge: its datapath id in hexadecimal, the remote ID of inserted options."""
        self.relay_options = relay_options
        self.counters: Counter[str] = Counter()
        self._bridge = bridge.encode()

    def from_client(self, port: Port, frame: bytes, now: float) -> Verdict:
        """Judge a frame to a DHCP server's or relay's port from a snooped port."""
        return Verdict(frame)

    def from_server(self, frame: bytes, now: float) -> Verdict:
        """Judge a frame of a DHCP server or relay from a port where servers may be."""
        return Verdict(frame)

    def forget(self, port: int) -> None:
        """Forget the requests of a port that is down or gone."""
