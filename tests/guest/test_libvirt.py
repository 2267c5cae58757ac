"""Guests that libvirt plugs into an ofapp bridge, with the files of deploy/libvirt."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import pytest
import yaml

from tests.guest.libvirt import Libvirt
from tests.guest.qemu import Shell
from tests.support.controller import ROOT, Controller
from tests.support.lab import Lab, quiet, vsctl
from tests.support.waiting import wait_for

FILES = ROOT / "deploy/libvirt"


@dataclass
class Domain:
    """A guest of libvirt's; without a tap's name libvirt finds one itself."""

    number: int
    interface: str
    tap: str = ""
    shell: Shell | None = None

    @property
    def name(self):
        return f"guest{self.number}"

    @property
    def mac(self):
        return f"52:54:00:0a:01:{self.number:02x}"

    @property
    def ip(self):
        return f"10.211.0.{150 + self.number}"


class Place:
    """A bridge with a host and three guests."""

    def __init__(self, image, cleanup):
        self.libvirt = Libvirt()
        cleanup.callback(self.libvirt.close)
        lab = Lab()
        cleanup.callback(lab.close)
        self.switch = lab.switch()
        self.host = lab.host(self.switch)
        self.domains = [
            Domain(1, "plain"),
            Domain(2, "isolated", f"iso-{lab.tag}1"),
            Domain(3, "isolated", f"iso-{lab.tag}2"),
        ]
        self.libvirt.started().network(FILES / "network.xml", self.switch.name)
        for domain in self.domains:
            file = FILES / f"interface-{domain.interface}.xml"
            serial = self.libvirt.create(domain.name, image, file, domain.mac, domain.tap)
            domain.shell = Shell(serial)
            cleanup.callback(domain.shell.close)
            self.libvirt.virsh("resume", domain.name)
        for port in self.ports():
            if port != self.host.plug:
                quiet(port)
        for domain in self.domains:
            domain.shell.booted().configure(f"{domain.ip}/24")

    def ports(self):
        return vsctl("list-ports", self.switch.name).split()

    def port_of(self, domain):
        """Where libvirt says in the database that the guest is: its interface and OpenFlow port."""
        columns = ("--bare", "--columns=name,ofport", "find", "Interface")
        found = vsctl(*columns, f'external_ids:attached-mac="{domain.mac}"').split()
        return (found[0], int(found[1])) if found else None


@pytest.fixture(scope="module")
def place(image):
    with contextlib.ExitStack() as cleanup:
        yield Place(image, cleanup)


@pytest.fixture(scope="module")
def controller(place):
    """What deploy/libvirt/ports.yaml says of br0, it is reported this bridge."""
    (ports,) = yaml.safe_load((FILES / "ports.yaml").read_text())["bridges"].values()
    settings = {
        "defaults": {"stp": {"enabled": True}},
        "bridges": {place.switch.dpid16: ports},
    }
    controller = Controller(yaml.safe_dump(settings))
    try:
        controller.start()
        controller.connect(place.switch)
        yield controller
    finally:
        controller.close()


def test_each_guest_has_a_port_and_its_address_stands_in_the_database(place):
    for domain in place.domains:
        name, _ = place.port_of(domain)
        assert name in place.ports()
        assert name == domain.tap if domain.tap else name.startswith("vnet")


def test_guests_reach_whom_their_interface_lets_them_reach(place, controller):
    plain, *isolated = place.domains
    for domain in place.domains:
        wait_for(lambda d=domain: place.host.reaches(d.ip), "the guest to answer", seconds=30)
        assert domain.shell.reaches(place.host.ip)
    for domain in isolated:
        assert plain.shell.reaches(domain.ip)
    one, other = isolated
    assert not one.shell.reaches(other.ip, seconds=1)


def test_the_bridge_knows_each_guest_at_its_port(place, controller):
    for domain in place.domains:
        domain.shell.reaches(place.host.ip)
        _, port = place.port_of(domain)
        wait_for(
            lambda d=domain, p=port: controller.where(place.switch, d.mac) == p,
            "the guest to be known",
        )


def test_a_port_goes_with_its_guest(place, controller):
    gone = place.domains[0]
    name, _ = place.port_of(gone)
    place.libvirt.virsh("destroy", gone.name)
    wait_for(lambda: name not in place.ports(), "the port to be removed")
    wait_for(lambda: controller.where(place.switch, gone.mac) is None, "it to be forgotten")
    assert not place.host.reaches(gone.ip, seconds=1)
    assert place.host.reaches(place.domains[1].ip)
