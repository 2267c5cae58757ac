"""A guest that asks a real DHCP server for addresses as many invented hosts (yersinia, DHCPig).

It completes each handshake, so the server commits a lease each time.  The pool has 101 addresses.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest

from ofapp.bridge.first_hop.dhcp.bootp import OFFER, Bootp, read_bootp
from ofapp.bridge.first_hop.dhcp.dhcpv6 import ADVERTISE, REQUEST, SOLICIT, Message, read_message
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.udp import read_udp
from tests.support import dhcp_frames as dhcp
from tests.support.firsthop import clients
from tests.support.firsthop.bed import Bed
from tests.support.firsthop.daemon import Daemon
from tests.support.firsthop.servers import GATEWAY, dnsmasq, kea
from tests.support.lab import Host
from tests.support.waiting import wait_for

INVENTED = 110
LIMIT = 16
Answer = Callable[[bytes], bytes | None]
FIRST = 0x02_66_00_00_00_00


@contextmanager
def _dnsmasq(host: Host) -> Iterator[tuple[Daemon, Daemon]]:
    with dnsmasq(host) as daemon:
        yield daemon, daemon


def _dnsmasq_leases(log: str, family: int) -> set[str]:
    word = r"DHCPACK\(eth0\) (\S+)" if family == 4 else r"DHCPREPLY\(eth0\) (\S+:\S+)"
    return set(re.findall(word, log))


def _kea_leases(log: str, family: int) -> set[str]:
    return set(re.findall(rf"DHCP{family}_LEASE_ALLOC .*lease (?:for address )?(\S+)", log))


@dataclass(frozen=True)
class Site:
    """A server and how its log tells which addresses it has leased."""

    serve: Callable[[Host], AbstractContextManager[tuple[Daemon, Daemon]]]
    leases: Callable[[str, int], set[str]]
    relay_options: str


SITES = {
    "dnsmasq": Site(_dnsmasq, _dnsmasq_leases, "remove"),
    "kea, relayed": Site(lambda host: kea(host, 600), _kea_leases, "insert"),
}


def answer4(frame: bytes) -> bytes | None:
    """The request that follows an offer."""
    data = _payload(frame, 68)
    message = None if data is None else read_bootp(data)
    if not isinstance(message, Bootp) or message.kind != OFFER:
        return None
    options = (50, message.yiaddr), (54, dhcp.ip(GATEWAY))
    request = dhcp.Bootp(mac=message.chaddr, xid=message.xid, kind=dhcp.REQUEST, options=options)
    return dhcp.from_client4(request)


def answer6(frame: bytes) -> bytes | None:
    """The request that follows an Advertise."""
    data = _payload(frame, 546)
    message = None if data is None else read_message(data)
    if not isinstance(message, Message) or message.kind != ADVERTISE or not message.leases:
        return None
    assert data is not None
    at = 4
    while data[at : at + 2] != b"\0\2":  # the server's identifier
        at += 4 + int.from_bytes(data[at + 2 : at + 4], "big")
    server = data[at : at + 4 + int.from_bytes(data[at + 2 : at + 4], "big")]
    lease = dhcp.ia_na((str(message.leases[0].address), 600))
    mac = int.from_bytes(frame[:6], "big")
    return dhcp.from_client6(mac, dhcp.message6(REQUEST, message.xid, message.duid, server, lease))


def _payload(frame: bytes, port: int) -> bytes | None:
    """What a frame to this UDP port carries."""
    datagram = read_udp(frame)
    if isinstance(datagram, Malformed) or datagram.dest_port != port:
        return None
    return frame[datagram.at : datagram.end]


def ask4(_: Host, number: int) -> bytes:
    """A DISCOVER of an invented host."""
    return dhcp.discover(FIRST + number, number)


def ask6(host: Host, number: int) -> bytes:
    """A SOLICIT of this host by an invented DUID: a server must reach it before it answers."""
    message = dhcp.message6(SOLICIT, number, dhcp.duid(FIRST + number), dhcp.ia_na())
    return dhcp.from_client6(int(host.mac.replace(":", ""), 16), message)


def starve(host: Host, ask: Callable[[Host, int], bytes], answer: Answer) -> None:
    """Ask as many clients, and take what is offered, until no offer has come for two seconds."""
    due = [ask(host, number) for number in range(1, INVENTED + 1)]
    last = time.monotonic()
    with host.wire() as wire:

        def handshakes() -> bool:
            nonlocal last
            if due:
                wire.send(due.pop(0))
                last = time.monotonic()
            for frame in wire.received():
                if (request := answer(frame)) is not None:
                    wire.send(request)
                    last = time.monotonic()
            return time.monotonic() > last + 2

        wait_for(handshakes, "the end of the handshakes", seconds=40)


@pytest.mark.parametrize("site", SITES)
def test_a_guest_does_not_exhaust_the_pool(site: str) -> None:
    server = SITES[site]
    more = {"first_hop": {"relay_options": server.relay_options}}
    with Bed({"trust": "guest"}, {"trust": "uplink"}, bridge=more, guests=3, compare=False) as bed:
        *attackers, other = bed.guarded.guests
        four, six = bed.keep(server.serve(bed.guarded.gateway))
        starve(attackers[0], ask4, answer4)
        wait_for(attackers[1].link_local, "its link-local address")
        starve(attackers[1], ask6, answer6)
        for family, log in (4, four.log()), (6, six.log()):
            assert 0 < len(server.leases(log, family)) <= LIMIT, family
        bed.keep(clients.UDHCPC.start(other))
        other.wait_lease(4)
        bed.keep(clients.DHCLIENT6.start(other))
        other.wait_lease(6)
