"""DHCP snooping: what becomes of each message, and which leases it grants or ends."""

from collections import Counter
from collections.abc import Iterator

from ofapp.bridge.first_hop.dhcp import bootp, dhcpv6
from ofapp.bridge.first_hop.dhcp.dhcpv4_snooping import Dhcpv4Snooping
from ofapp.bridge.first_hop.dhcp.dhcpv6_snooping import Dhcpv6Snooping
from ofapp.bridge.first_hop.dhcp.host_names import HostNames
from ofapp.bridge.first_hop.dhcp.relaying import Relaying
from ofapp.bridge.first_hop.dhcp.requests import Unanswered, UnansweredRequests
from ofapp.bridge.first_hop.dhcp.verdict import Verdict
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.udp import read_udp
from ofapp.bridge.ports.port import Port


class DhcpSnooping:
    """DHCPv4 and DHCPv6 of one bridge.  It knows the requests of the last minute, and no bindings.

    counters: messages that were dropped, by reason; those of servers that could not be read
    (`server_...`); options inserted and removed.
    names: names that hosts give themselves.
    """

    def __init__(self, bridge: str, relay_options: str = "remove") -> None:
        """bridge: its datapath id in hexadecimal, the remote ID of inserted options.

        relay_options: as `params.BridgeParams.relay_options`.
        """
        self._relaying = Relaying(bridge.encode(), relay_options)
        self.counters: Counter[str] = self._relaying.counters
        self._unanswered = UnansweredRequests()
        self.names = HostNames()
        self._v4 = Dhcpv4Snooping(self._relaying, self._unanswered, self.names)
        self._v6 = Dhcpv6Snooping(self._relaying, self._unanswered, self.names)

    @property
    def relay_options(self) -> str:
        """Which relay options requests get: see `params.BridgeParams.relay_options`."""
        return self._relaying.mode

    @relay_options.setter
    def relay_options(self, mode: str) -> None:
        self._relaying.mode = mode

    def from_client(self, port: Port, frame: bytes, now: float) -> Verdict:
        """Judge a frame to the UDP port of DHCP servers from a snooped port."""
        datagram = read_udp(frame)
        if isinstance(datagram, Malformed):
            verdict = Verdict(None, datagram.reason)
        else:
            is_v4 = len(datagram.packet.source) == 4
            if datagram.dest_port != (bootp.SERVER_PORT if is_v4 else dhcpv6.SERVER_PORT):
                verdict = Verdict(None, "dhcp_other")
            else:
                snooping = self._v4 if is_v4 else self._v6
                verdict = snooping.from_client(port, frame, datagram, now)
        if verdict.frame is None:
            self.counters[verdict.reason] += 1
        return verdict

    def from_server(self, frame: bytes, now: float) -> Verdict:
        """Judge a frame of a DHCP server or relay agent from a port where these may be."""
        datagram = read_udp(frame)
        if isinstance(datagram, Malformed):
            self.counters[f"server_{datagram.reason}"] += 1
            return Verdict(frame)
        snooping = self._v4 if len(datagram.packet.source) == 4 else self._v6
        verdict = snooping.from_server(frame, datagram, now)
        if verdict.frame is None:
            self.counters[verdict.reason] += 1
        return verdict

    def forget(self, port: int) -> None:
        """Forget the requests of a port that is down or gone."""
        for requests in (self._v4.requests, self._v6.requests, self._unanswered):
            requests.forget(port)

    def unanswered(self, mac: int) -> Iterator[Unanswered]:
        """The requests of a host that no server has answered, for each port and VLAN."""
        return self._unanswered.of(mac)

    @property
    def replaced(self) -> int:
        """Requests that could not be remembered for their whole time, as a port had many."""
        return self._v4.requests.replaced + self._v6.requests.replaced
