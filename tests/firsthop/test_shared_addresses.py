"""Two guests that share addresses by VRRP, behind guarded ports, and a third that must not."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.support.dhcp_frames import Arp, advertisement
from tests.support.firsthop.bed import Bed, Guest
from tests.support.firsthop.daemon import Daemon
from tests.support.firsthop.servers import GATEWAY, GATEWAY6
from tests.support.waiting import wait_for

VID = 10
ADDRESSES = "10.211.0.50", "fd00:211::50"
VIRTUAL = "00:00:5e:00:01:07"
OWN = ("10.211.0.11", "10.211.0.12", "10.211.0.13")
OWN6 = ("fd00:211::11", "fd00:211::12", "fd00:211::13")


class SharedBed(Bed):
    """virtual: keepalived has a virtual MAC address."""

    virtual = False


@pytest.fixture(params=["own MAC addresses", "virtual MAC address"])
def bed(request: pytest.FixtureRequest) -> Iterator[SharedBed]:
    """Guests 0 and 1 have shared bindings of the addresses, and guest 2 has none."""
    with SharedBed({"trust": "guest"}, {"trust": "uplink"}, guests=3, compare=False) as bed:
        bed.virtual = request.param.startswith("virtual")
        for number, guest in enumerate(bed.guarded.guests):
            for address, bits in ((OWN[number], 24), (OWN6[number], 64)):
                bind(bed, guest, address)
                guest.run("ip", "addr", "add", f"{address}/{bits}", "dev", "eth0")
            if bed.virtual:  # eth0 is not to answer for the address of the virtual interface
                guest.run("sysctl", "-q", "-w", "net.ipv4.conf.eth0.arp_ignore=1")
            for address in ADDRESSES if number < 2 else ():
                bind(bed, guest, address, shared=True)  # Linux answers by it also with the other
                if bed.virtual:
                    bind(bed, guest, address, VIRTUAL, shared=True)
        for guest in bed.guarded.guests:
            wait_for(lambda guest=guest: guest.reaches(GATEWAY), "the gateway")
            wait_for(lambda guest=guest: guest.reaches(GATEWAY6), "the gateway by IPv6")
        yield bed


def bind(bed: SharedBed, guest: Guest, address: str, mac: str = "", shared: bool = False) -> None:
    body = {"port": guest.plug, "vlan": VID, "mac": mac or guest.mac, "address": address}
    path = f"/v1/bridges/{bed.bridge.dpid16}/bindings"
    reply = bed.controller.api("POST", path, body=body | {"shared": shared})
    assert reply.status in (200, 201), reply.body


def keepalived(bed: SharedBed, guest: Guest, priority: int) -> Daemon:
    """VRRP version 3 with both addresses; the one of IPv6 follows that of IPv4."""
    virtual = "use_vmac vrrp7\n vmac_xmit_base" if bed.virtual else ""
    four, six = ADDRESSES
    text = f"""
global_defs {{
  vrrp_garp_master_delay 1
  vrrp_garp_lower_prio_repeat 1
}}
vrrp_instance shared {{
  state BACKUP
  interface eth0
  {virtual}
  version 3
  virtual_router_id 7
  priority {priority}
  advert_int 0.2
  virtual_ipaddress {{ {four}/24 }}
  virtual_ipaddress_excluded {{ {six}/64 }}
}}
"""
    path = "/run/keepalived.conf"
    command = ("keepalived", "-n", "-l", "-P", "-f", path, "-p", "/run/k.pid", "-r", "/run/v.pid")
    return Daemon(guest, *command, files={path: text})


def wait_at(bed: SharedBed, guest: Guest) -> None:
    """Wait until the gateway reaches the addresses at a guest's port.

    keepalived has an address of the other family than VRRP's on eth0, by its own MAC address.
    """
    gateway = bed.guarded.gateway
    macs = [VIRTUAL if bed.virtual else guest.mac, guest.mac]

    def at_guest() -> bool:
        reached = all(gateway.reaches(address, 1) for address in ADDRESSES)
        ports = {one["port"]["name"] for one in bed.fdb() if one["mac"] in macs}
        return reached and [*map(gateway.neighbour, ADDRESSES)] == macs and ports == {guest.plug}

    wait_for(at_guest, f"the addresses at {guest.namespace}", seconds=30)


def test_addresses_move_between_the_hosts_that_share_them(bed: SharedBed) -> None:
    """By gratuitous ARP and unsolicited neighbour advertisements, there and back."""
    first, second, third = bed.guarded.guests
    with keepalived(bed, second, 90), keepalived(bed, first, 100) as master:
        wait_at(bed, first)
        master.signal(signal.SIGTERM)
        master.process.wait(timeout=10)
        wait_at(bed, second)
        announce(third)
        wait_at(bed, second)
        with keepalived(bed, first, 100):
            wait_at(bed, first)
    refused = {(one["port"]["name"], one["claim"], one["address"]) for one in bed.refused()}
    assert {(third.plug, "arp", ADDRESSES[0]), (third.plug, "nd", ADDRESSES[1])} <= refused
    assert {port for port, _, address in refused if address in ADDRESSES} == {third.plug}


def announce(guest: Guest) -> None:
    """Claim the addresses for a host as keepalived does: it must not get any of them."""
    mac = int(guest.mac.replace(":", ""), 16)
    frames = (
        Arp(mac, ADDRESSES[0], ADDRESSES[0]).frame(),
        Arp(mac, ADDRESSES[0], ADDRESSES[0], 2).frame(),
        advertisement(mac, ADDRESSES[1]).frame,
    )
    with guest.wire() as wire:
        for frame in frames:
            wire.send(frame)
