"""A guest that libvirt plugs into an ofapp bridge: `<virtualport type='openvswitch'/>`."""

from __future__ import annotations

import contextlib

from tests.guest.libvirt import Libvirt
from tests.guest.qemu import Shell
from tests.mininet.lab import Lab, quiet, vsctl
from tests.vswitchd.waiting import wait_for

NAME = "ofapp-guest"
MAC = "52:54:00:0a:01:01"
IP = "10.211.0.150"


def test_a_port_comes_and_goes_with_its_guest(image, controller):
    with contextlib.ExitStack() as cleanup:
        libvirt = Libvirt()
        cleanup.callback(libvirt.close)
        lab = Lab()
        cleanup.callback(lab.close)
        switch = lab.switch()
        host = lab.host(switch)
        controller.connect(switch)
        tap = f"{lab.tag}v"
        serial = libvirt.started().create(NAME, image, switch.name, tap, MAC)
        quiet(tap)
        shell = Shell(serial)
        cleanup.callback(shell.close)
        libvirt.virsh("resume", NAME)

        assert vsctl("port-to-br", tap) == switch.name
        assert vsctl("get", "Interface", tap, "external_ids:attached-mac") == f'"{MAC}"'
        shell.booted().configure(f"{IP}/24")
        wait_for(lambda: host.reaches(IP), "the guest to answer")
        assert shell.reaches(host.ip)
        port = int(vsctl("get", "Interface", tap, "ofport"))
        assert controller.where(switch, MAC) == port

        libvirt.virsh("destroy", NAME)
        wait_for(lambda: tap not in vsctl("list-ports", switch.name), "the port to be removed")
        wait_for(lambda: controller.where(switch, MAC) is None, "the guest to be forgotten")
        assert not host.reaches(IP, seconds=1)
