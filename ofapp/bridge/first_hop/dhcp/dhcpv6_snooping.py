"""DHCPv6 snooping (RFC 7513 4.2, 6): a lease is what a server's Reply has.

A Reply to Confirm grants nothing: a server checks only whether the addresses fit the link (RFC
8415 18.3.3).
"""

from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.dhcp import dhcpv6, ldra
from ofapp.bridge.first_hop.dhcp.dhcpv6 import Message, read_message, read_relayed
from ofapp.bridge.first_hop.dhcp.host_names import HostNames, fqdn
from ofapp.bridge.first_hop.dhcp.relaying import Relaying
from ofapp.bridge.first_hop.dhcp.requests import Requests, UnansweredRequests
from ofapp.bridge.first_hop.dhcp.verdict import Cause, Ended, Leased, Verdict, client_of
from ofapp.bridge.mac import is_group
from ofapp.bridge.packet.address import ANY6, is_host
from ofapp.bridge.packet.ethernet import Ethernet
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.udp import Datagram
from ofapp.bridge.ports.port import Port

_REQUESTS = {
    dhcpv6.SOLICIT: "solicit",
    dhcpv6.REQUEST: "request",
    dhcpv6.RENEW: "renew",
    dhcpv6.REBIND: "rebind",
}
"""What a server answers with leases: Solicit with rapid commit as well (RFC 8415 18.3.1)."""

_ENDS = {dhcpv6.RELEASE: Cause.RELEASE, dhcpv6.DECLINE: Cause.DECLINE}
_OF_CLIENTS = (*_REQUESTS, *_ENDS, dhcpv6.CONFIRM, dhcpv6.INFORMATION_REQUEST)
_TO_CLIENTS = (dhcpv6.ADVERTISE, dhcpv6.REPLY, dhcpv6.RECONFIGURE)

_Key = tuple[int, int, bytes]
"""VID, transaction id, DUID."""


class Dhcpv6Snooping:
    """DHCPv6 of one bridge."""

    def __init__(
        self, relaying: Relaying, unanswered: UnansweredRequests, names: HostNames
    ) -> None:
        self.requests: Requests[_Key] = Requests()
        self._names = names
        self._relaying = relaying
        self._unanswered = unanswered

    # Clients

    def from_client(self, port: Port, frame: bytes, datagram: Datagram, now: float) -> Verdict:
        """Judge a message to port 547 of a host that is no server or relay agent."""
        data = frame[datagram.at : datagram.end]
        if data[:1] and data[0] not in _OF_CLIENTS:
            return Verdict(None, "dhcpv6_from_server")
        message = read_message(data)
        if isinstance(message, Malformed):
            return Verdict(None, message.reason)
        if not message.duid and message.kind != dhcpv6.INFORMATION_REQUEST:
            return Verdict(None, dhcpv6.BAD_DUID.reason)
        ethernet, source = datagram.packet.ethernet, datagram.packet.source
        if is_group(ethernet.mac) or not is_host(source):
            return Verdict(None, "dhcpv6_source")
        asks: tuple[tuple[Origin, bytes], ...] = ()
        if message.kind in _REQUESTS:
            asks = tuple(
                [(Origin.DHCPV6, client_of(message.duid, each)) for each in message.associations]
            )
            key = (ethernet.vid, message.xid, message.duid)
            if not self.requests.add(key, port.number, ethernet.mac, None, now):
                return Verdict(None, "dhcpv6_request_of_other_port")
            name = _REQUESTS[message.kind]
            self._unanswered.add(port.number, ethernet.vid, ethernet.mac, name, now)
            self._names.put(port.number, ethernet.mac, fqdn(message.fqdn))
        facts: tuple[Ended, ...] = ()
        if message.kind in _ENDS:
            cause = _ENDS[message.kind]
            facts = tuple(
                [
                    Ended(port.number, ethernet.vid, ethernet.mac, address, cause, Origin.DHCPV6)
                    for address, _, _ in message.leases
                ]
            )
        return Verdict(self._relay(port, frame, datagram), "", facts, source, asks)

    def _relay(self, port: Port, frame: bytes, datagram: Datagram) -> bytes:
        """The frame, in a Relay-forward message if it is multicast (RFC 6221 4.1)."""
        relaying = self._relaying
        if relaying.mode != "insert" or datagram.packet.dest[0] != 0xFF:
            return frame
        made = ldra.relay(frame, datagram, relaying.interface(port))
        relaying.counters["ldra_too_long" if made is None else "ldra_relayed"] += 1
        return frame if made is None else made

    # Servers

    def from_server(self, frame: bytes, datagram: Datagram, now: float) -> Verdict:
        """Judge a message of a server or relay agent: forward it, note its leases.

        What is not for a client, or cannot be read, is forwarded as it is, and grants nothing.
        """
        data = frame[datagram.at : datagram.end]
        if datagram.dest_port == dhcpv6.SERVER_PORT and data[:1] == bytes((dhcpv6.RELAY_REPLY,)):
            return self._unwrap(frame, datagram, now)
        if datagram.dest_port != dhcpv6.CLIENT_PORT:
            return Verdict(frame)
        message = read_message(data)
        if isinstance(message, Malformed):
            self._relaying.counters[f"server_{message.reason}"] += 1
            return Verdict(frame)
        return Verdict(frame, "", self._facts(message, datagram.packet.ethernet, now))

    def _unwrap(self, frame: bytes, datagram: Datagram, now: float) -> Verdict:
        """Judge a Relay-reply message: it may be for the relay agent that this bridge is."""
        relayed = read_relayed(frame[datagram.at : datagram.end])
        if isinstance(relayed, Malformed):
            self._relaying.counters[f"server_{relayed.reason}"] += 1
            return Verdict(frame)
        if relayed.link != ANY6 or not self._relaying.is_own(relayed.interface):
            return Verdict(frame)
        message = read_message(relayed.message)
        if isinstance(message, Malformed) or message.kind not in _TO_CLIENTS:
            return Verdict(None, "dhcpv6_relayed")
        if relayed.peer != datagram.packet.dest:
            return Verdict(None, "dhcpv6_peer")
        self._relaying.counters["ldra_unwrapped"] += 1
        made = ldra.unwrap(frame, datagram, relayed)
        return Verdict(made, "", self._facts(message, datagram.packet.ethernet, now))

    def _facts(
        self, message: Message, ethernet: Ethernet, now: float
    ) -> tuple[Leased | Ended, ...]:
        """Read the leases that a Reply grants and withdraws.

        Without its request, from before a restart, it belongs to the host that it is sent to: a
        client gets it at the address that it asked from (RFC 8415 18.3.10).
        """
        port, mac = None, ethernet.dest
        request = self.requests.get((ethernet.vid, message.xid, message.duid), now)
        if request is not None:
            port, mac = request.port, request.mac
            self._unanswered.answered(port, ethernet.vid, mac)
        if message.kind != dhcpv6.REPLY or is_group(mac):
            return ()
        facts: list[Leased | Ended] = []
        for address, valid, association in message.leases:
            head = (port, ethernet.vid, mac, address)
            if not is_host(address.octets):
                continue
            if valid == 0:
                facts.append(Ended(*head, Cause.WITHDRAWN, Origin.DHCPV6))
            else:
                lifetime = None if valid == dhcpv6.INFINITE else float(valid)
                client = client_of(message.duid, association)
                facts.append(Leased(*head, lifetime, Origin.DHCPV6, client))
        return tuple(facts)
