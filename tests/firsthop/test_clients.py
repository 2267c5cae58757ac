"""Real DHCP clients and the kernel's SLAAC behind guarded ports lose no frame.

udhcpc, dhclient, dhcpcd and systemd-networkd (in a container's manner, without udev and D-Bus) with
dnsmasq, and with Kea and radvd.  Echo requests go on over IPv4 and IPv6 while things happen.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support.firsthop import clients
from tests.support.firsthop.bed import Bed, Capture, Guest, Pings
from tests.support.firsthop.daemon import Daemon
from tests.support.firsthop.servers import GATEWAY, GATEWAY6, dnsmasq, kea
from tests.support.waiting import wait_for

PRIVACY = "net.ipv6.conf.eth0.use_tempaddr=2"


class Site:
    """The bed, and each guest's client by the guest's number."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.guests = list(bed.guarded.guests)
        self.kinds = dict(zip((guest.number for guest in self.guests), clients.KINDS, strict=False))
        self.daemons: dict[int, Daemon] = {}

    def start(self) -> None:
        """Start all clients; the guest that is left over has SLAAC alone, with privacy."""
        self.guests[len(self.kinds)].run("sysctl", "-q", "-w", PRIVACY)
        for guest in self.guests:
            wait_for(guest.link_local, "a link-local address")
        for guest in self.clients():
            self.daemons[guest.number] = self.bed.keep(self.kinds[guest.number].start(guest))
        for guest in self.clients():
            for family in self.kinds[guest.number].families:
                guest.wait_lease(family, seconds=40)
        for guest in self.guests:
            guest.wait_address(6, seconds=40)

    def clients(self) -> list[Guest]:
        """The guests with a DHCP client."""
        return self.guests[: len(self.kinds)]

    def families(self, guest: Guest) -> set[int]:
        """Those in which the guest has an address; all have IPv6, by SLAAC."""
        kind = self.kinds.get(guest.number)
        return {6, *(kind.families if kind else ())}

    @contextmanager
    def no_loss(self) -> Iterator[list[Pings]]:
        """Echo requests of each guest to the gateway and to the next guest: none is lost."""
        with ExitStack() as stack:
            pings = []
            for guest, other in zip(self.guests, (*self.guests[1:], self.guests[0]), strict=True):
                both = sorted(self.families(guest) & self.families(other))
                targets = [other.address(family) or "" for family in both]
                targets += [{4: GATEWAY, 6: GATEWAY6}[family] for family in self.families(guest)]
                pings.append(stack.enter_context(Pings(guest, *targets)))
            for each in pings:
                each.more(1)
            yield pings
            lost = {each.host.namespace: each.lost() for each in pings}
            assert not any(lost.values()), lost


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """All clients and a guest with privacy addresses, with leases by dnsmasq."""
    with Bed(
        {"trust": "guest"},
        {"trust": "uplink"},
        guests=len(clients.KINDS) + 1,
        compare=False,
    ) as bed:
        bed.keep(dnsmasq(bed.guarded.gateway))
        site = Site(bed)
        site.start()
        yield site


def test_every_client_has_its_lease(site: Site) -> None:
    with site.no_loss() as pings:
        for each in pings:
            each.more(20)


def test_privacy_addresses_are_used(site: Site) -> None:
    guest = site.guests[-1]
    shown = guest.run("ip", "-6", "addr", "show", "dev", "eth0", "temporary")
    temporary = shown.split("inet6 ")[1].split("/")[0]
    assert guest.run("ip", "-6", "route", "get", GATEWAY6).split("src ")[1].startswith(temporary)
    assert guest.reaches(GATEWAY6)


def test_a_client_renews(site: Site) -> None:
    guest = site.guests[0]
    client = site.daemons[guest.number]
    with site.no_loss():
        client.signal(signal.SIGUSR1)
        wait_for(lambda: client.log().count("lease of") == 2, "a renewal")


def test_an_address_is_probed_before_use(site: Site) -> None:
    """RFC 5227: a probe of the host's own address passes, one that disturbs another's does not."""
    one, other = site.guests[:2]
    probe = ("busybox", "arping", "-D", "-I", "eth0", "-c", "1", "-w", "1")
    with Capture(other) as capture:
        for target in (other.address(4), one.address(4)):
            one.run(*probe, target, check=False)

        def probed() -> set[bytes]:
            heads = (b"\x08\x06", bytes(4))
            return {
                frame[38:42]
                for frame in capture.received(other)
                if (frame[12:14], frame[28:32]) == heads
            }

        wait_for(probed, "the probe of its address")
        assert probed() == {ip_address(one.address(4) or "").packed}


def test_an_address_in_use_is_not_taken(site: Site) -> None:
    """Duplicate address detection by a guest of the other's address fails."""
    one, other = site.guests[:2]
    taken = other.address(6)
    one.run("ip", "addr", "add", f"{taken}/64", "dev", "eth0")
    try:
        wait_for(
            lambda: "dadfailed" in one.run("ip", "-6", "addr", "show", "dev", "eth0"),
            "the address to be refused by its user",
        )
    finally:
        one.run("ip", "addr", "del", f"{taken}/64", "dev", "eth0")
    assert other.reaches(GATEWAY6)


@pytest.mark.parametrize("event", ["kill9", "restart in order", "reload"])
def test_nothing_is_lost_while_the_controller(site: Site, event: str) -> None:
    controller = site.bed.controller
    with site.no_loss() as pings:
        if event == "reload":
            controller.configure(site.bed.config(ageing_time=200))
            assert controller.api("POST", "/v1/config/reload").status == 200
        else:
            controller.kill9() if event == "kill9" else controller.terminate()
            pings[0].more(20)
            controller.start()
            controller.wait_ready(site.bed.bridge)
        pings[0].more(20)


def test_a_lease_is_renewed_while_no_controller_is_there(site: Site) -> None:
    guest = site.guests[0]
    client = site.daemons[guest.number]
    count = client.log().count("lease of")
    site.bed.controller.kill9()
    try:
        with site.no_loss() as pings:
            # udhcpc gives its lease up after four requests without an answer in four seconds.
            wait_for(
                lambda: (
                    not any(
                        (flow.table, flow.priority) == (TableId.AWAY, 100)
                        for flow in site.bed.bridge.flows()
                    )
                ),
                "the switch to know that no controller is there",
            )
            client.signal(signal.SIGUSR1)
            wait_for(lambda: client.log().count("lease of") > count, "a renewal")
            pings[0].more(10)
    finally:
        site.bed.controller.start()
        site.bed.controller.wait_ready(site.bed.bridge)


def test_a_host_takes_its_bindings_along_when_its_old_port_is_down(site: Site) -> None:
    """Before, its MAC address on another port is a lie: it gets nothing, the host loses nothing."""
    one, other = site.guests[0], site.bed.guarded.guest()
    site.bed.controller.wait_ready(site.bed.bridge)
    other.run("ip", "link", "set", "eth0", "address", one.mac)
    for address in (one.address(4), one.address(6)):
        bits = 64 if ":" in (address or "") else 24
        nodad = ("nodad",) if bits == 64 else ()
        other.run("ip", "addr", "add", f"{address}/{bits}", "dev", "eth0", *nodad)
    with Pings(one, GATEWAY, GATEWAY6) as pings:
        assert not other.reaches(GATEWAY, 1)
        assert not other.reaches(GATEWAY6, 1)
        assert not any(pings.lost().values())
    for old, new in ((one, other), (other, one)):
        site.bed.switch.inside("ip", "link", "set", old.plug, "down")
        site.bed.switch.inside("ip", "link", "set", new.plug, "up")
        wait_for(lambda host=new: host.reaches(GATEWAY, 1), "IPv4 by the new port", seconds=20)
        wait_for(lambda host=new: host.reaches(GATEWAY6, 1), "IPv6 by the new port", seconds=20)


def test_an_address_that_was_given_back_is_refused(site: Site) -> None:
    one = site.guests[0]
    lease = one.wait_lease(4)
    client = site.daemons[one.number]
    client.signal(clients.UDHCPC.release or 0)
    wait_for(lambda: one.address(4) is None, "the lease to be given back")
    one.run("ip", "addr", "add", f"{lease}/24", "dev", "eth0")
    assert not one.reaches(GATEWAY, 1)
    one.run("ip", "addr", "del", f"{lease}/24", "dev", "eth0")
    client.signal(signal.SIGUSR1)
    one.wait_lease(4)
    assert one.reaches(GATEWAY)


@pytest.mark.thorough
def test_short_leases_of_kea() -> None:
    """Each client renews again and again, and loses nothing.

    20 s is the shortest lease that all keep to: udhcpc takes a shorter one for 16 s, dhcpcd for 20.
    """
    with Bed(
        {"trust": "guest"}, {"trust": "uplink"}, guests=len(clients.KINDS) + 1, compare=False
    ) as bed:
        four, six = bed.keep(kea(bed.guarded.gateway, lifetime=20))
        site = Site(bed)
        site.start()
        with site.no_loss() as pings:
            leases = four.log().count("DHCP4_LEASE_ALLOC"), six.log().count("DHCP6_LEASE")
            wait_for(
                lambda: (
                    four.log().count("DHCP4_LEASE_ALLOC") >= leases[0] + 10
                    and six.log().count("DHCP6_LEASE") >= leases[1] + 8
                ),
                "two or more renewals of each client",
                seconds=60,
            )
            pings[0].more(10)


def test_bindings_end_with_their_lease() -> None:
    """A lease of 4 s by Kea that is not renewed: the address is refused then, without a release."""
    with Bed({"trust": "guest"}, {"trust": "uplink"}, guests=1, compare=False) as bed:
        bed.keep(kea(bed.guarded.gateway, lifetime=4))
        (guest,) = bed.guarded.guests
        with clients.UDHCPC.start(guest):
            guest.wait_lease(4)
            assert guest.reaches(GATEWAY)
        with Pings(guest, GATEWAY) as pings:  # udhcpc was killed, and the kernel keeps the address
            wait_for(lambda: not guest.reaches(GATEWAY, 1), "the end of the lease", seconds=15)
            assert pings.answers()[0]
