"""DHCPv4 snooping (RFC 7513 4.2, 6): a lease is what a server acknowledges."""

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.dhcp import bootp
from ofapp.bridge.first_hop.dhcp.bootp import Bootp, read_bootp
from ofapp.bridge.first_hop.dhcp.host_names import HostNames
from ofapp.bridge.first_hop.dhcp.relay_info import relay_info, remote_of, with_relay_info
from ofapp.bridge.first_hop.dhcp.relaying import Relaying
from ofapp.bridge.first_hop.dhcp.requests import Requests, UnansweredRequests
from ofapp.bridge.first_hop.dhcp.verdict import Cause, Ended, Leased, Verdict, client_of
from ofapp.bridge.mac import is_group
from ofapp.bridge.packet.address import is_host
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.udp import Datagram, with_payload
from ofapp.bridge.ports.port import Port

_REQUESTS = {bootp.DISCOVER: "discover", bootp.DHCP_REQUEST: "request", bootp.PLAIN_BOOTP: "bootp"}
"""What a server answers with a lease: a DISCOVER with rapid commit as well (RFC 4039)."""

_OF_CLIENTS = (*_REQUESTS, bootp.DECLINE, bootp.RELEASE, bootp.INFORM)
_GRANTS = (bootp.ACK, bootp.PLAIN_BOOTP)

_Key = tuple[int, int, int]
"""VID, xid, chaddr."""


class Dhcpv4Snooping:
    """DHCPv4 of one bridge."""

    def __init__(
        self, relaying: Relaying, unanswered: UnansweredRequests, names: HostNames
    ) -> None:
        self.requests: Requests[_Key] = Requests()
        self._names = names
        self._relaying = relaying
        self._unanswered = unanswered

    # Clients

    def from_client(self, port: Port, frame: bytes, datagram: Datagram, now: float) -> Verdict:
        """Judge a message to port 67 of a host that is no server or relay agent."""
        data = frame[datagram.at : datagram.end]
        message = read_bootp(data)
        if isinstance(message, Malformed):
            return Verdict(None, message.reason)
        ethernet, source = datagram.packet.ethernet, datagram.packet.source
        reason = _refusal(message, ethernet.mac)
        if reason:
            return Verdict(None, reason)
        address = message.ciaddr if any(message.ciaddr) else message.requested
        asks: tuple[tuple[Origin, bytes], ...] = ()
        if message.kind in _REQUESTS:
            key, client = (ethernet.vid, message.xid, message.chaddr), client_of(message.client_id)
            asks = ((Origin.DHCP, client),)
            if not self.requests.add(key, port.number, message.chaddr, address, now, client):
                return Verdict(None, "dhcp_request_of_other_port")
            name = _REQUESTS[message.kind]
            self._unanswered.add(port.number, ethernet.vid, message.chaddr, name, now)
            self._names.put(port.number, message.chaddr, message.name)
        facts: tuple[Ended, ...] = ()
        cause = {bootp.RELEASE: Cause.RELEASE, bootp.DECLINE: Cause.DECLINE}.get(message.kind)
        if cause is not None:
            if address is None or not is_host(address):
                return Verdict(None, "dhcp_address")
            bound = BoundAddress(address, 32)
            facts = (Ended(port.number, ethernet.vid, message.chaddr, bound, cause, Origin.DHCP),)
        rewritten = self._relay(port, frame, datagram, message)
        return Verdict(
            rewritten, "", facts, source if any(source) else None, asks, source == message.ciaddr
        )

    def _relay(self, port: Port, frame: bytes, datagram: Datagram, message: Bootp) -> bytes:
        """The frame with the option 82 that it is to have (RFC 3046 2.1)."""
        relaying, data = self._relaying, frame[datagram.at : datagram.end]
        has_options = data[236 : bootp.OPTIONS] == bootp.COOKIE
        if relaying.mode == "keep" or not has_options:
            return frame
        if relaying.mode == "insert":
            option = relay_info(relaying.circuit(port), relaying.bridge)
            made = with_payload(frame, datagram, with_relay_info(data, message, option))
            if made is not None:
                relaying.counters["option82_inserted"] += 1
                return made
            relaying.counters["option82_too_long"] += 1
        return self._without_option(frame, datagram, message)

    def _without_option(self, frame: bytes, datagram: Datagram, message: Bootp) -> bytes:
        if not message.relayed:
            return frame
        data = frame[datagram.at : datagram.end]
        made = with_payload(frame, datagram, with_relay_info(data, message))
        assert made is not None, "a message without an option is not longer"
        self._relaying.counters["option82_removed"] += 1
        return made

    # Servers

    def from_server(self, frame: bytes, datagram: Datagram, now: float) -> Verdict:
        """Judge a message from port 67 of a server or relay agent: forward it, note its lease.

        What is not for a client, or cannot be read, is forwarded as it is, and grants nothing.
        """
        if datagram.dest_port != bootp.CLIENT_PORT:
            return Verdict(frame)
        data = frame[datagram.at : datagram.end]
        message = read_bootp(data)
        if isinstance(message, Malformed):
            self._relaying.counters[f"server_{message.reason}"] += 1
            return Verdict(frame)
        fact = self._fact(message, datagram.packet.ethernet.vid, now)
        if message.relayed and remote_of(data) == self._relaying.bridge:
            frame = self._without_option(frame, datagram, message)
        return Verdict(frame, "", () if fact is None else (fact,))

    def _fact(self, message: Bootp, vid: int, now: float) -> Leased | Ended | None:
        mac = message.chaddr
        if message.op != bootp.REPLY or not mac or is_group(mac):
            return None
        request = self.requests.get((vid, message.xid, mac), now)
        port, client = None, b""
        if request is not None:
            port, client = request.port, request.client
            self._unanswered.answered(port, vid, mac)
        if message.kind == bootp.NAK:  # it does not say which address (RFC 2131 4.3.2)
            if request is None or request.address is None:
                return None
            bound = BoundAddress(request.address, 32)
            return Ended(port, vid, mac, bound, Cause.NAK, Origin.DHCP)
        if message.kind not in _GRANTS or not is_host(message.yiaddr) or message.lease == 0:
            return None  # an answer to INFORM has no yiaddr (RFC 2131 4.3.5)
        infinite = message.lease is None or message.lease == bootp.INFINITE
        lifetime = None if infinite else float(message.lease or 0)
        address = BoundAddress(message.yiaddr, 32)
        return Leased(port, vid, mac, address, lifetime, Origin.DHCP, client)


def _refusal(message: Bootp, mac: int) -> str:
    """Why no host may send a message; empty if it may."""
    if message.op != bootp.REQUEST or message.kind not in _OF_CLIENTS:
        return "dhcp_from_server"
    if message.chaddr != mac or is_group(mac):
        return "dhcp_chaddr"
    if any(message.giaddr):
        return "dhcp_giaddr"
    return ""
