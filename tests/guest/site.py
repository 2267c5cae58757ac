"""Virtual machines on the bridges of a Lab: each on a tap that is a port."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from tests.guest.image import Image
from tests.guest.qemu import Guest, Shell
from tests.support.lab import Host, Lab, Switch, quiet, sh
from tests.support.waiting import wait_for

MACHINE = "10.211.0.200"
"""The address of the machine itself on a bridge."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A guest, and where it is."""

    guest: Guest
    mac: str
    tap: str
    number: int

    @property
    def shell(self) -> Shell:
        """To be used once it is up."""
        return self.guest.shell

    @property
    def ip(self) -> str:
        """Of the same network as the lab's hosts."""
        return f"10.211.0.{self.number}"

    @property
    def ip6(self) -> str:
        return f"fd00:211::{self.number:x}"

    def ready(self, mtu: int = 1500) -> None:
        """Wait until it is up, and give it its addresses."""
        self.shell.booted().configure(f"{self.ip}/24", f"{self.ip6}/64", mtu=mtu)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two guests on one bridge, and a host behind its uplink; the machine itself is MACHINE."""

    switch: Switch
    guests: tuple[Placed, Placed]
    uplink: Host


class Site:
    """Guests of a lab; ends them, and what the lab has made."""

    def __init__(self, lab: Lab, image: Image) -> None:
        self.lab = lab
        self.image = image
        self.guests: list[Guest] = []
        self._taps = itertools.count(1)

    def tap(self, switch: Switch) -> str:
        """A new tap that is a port of the switch."""
        name = f"{self.lab.tag}t{next(self._taps)}"
        sh("ip", "tuntap", "add", name, "mode", "tap")
        self.lab.own(name)
        quiet(name)
        sh("ip", "link", "set", name, "up")
        switch.add_port(name)
        return name

    def guest(self, switch: Switch) -> Placed:
        """Start one on its own port; it boots meanwhile."""
        tap = self.tap(switch)
        number = 101 + len(self.guests)
        mac = f"52:54:00:0a:00:{number:02x}"
        guest = Guest.on_tap(self.image, tap, mac)
        self.guests.append(guest)
        return Placed(guest, mac, tap, number)

    def arriving(self, placed: Placed, tap: str, channel: Path) -> Placed:
        """The same guest as it will be when it has migrated to a tap of another bridge."""
        incoming = ("-incoming", f"unix:{channel}")
        guest = Guest.on_tap(self.image, tap, placed.mac, *incoming)
        self.guests.append(guest)
        wait_for(channel.exists, "QEMU to wait for the guest")
        return Placed(guest, placed.mac, tap, placed.number)

    def leave(self, placed: Placed) -> None:
        """What is left of a guest that has migrated away."""
        self.guests.remove(placed.guest)
        placed.guest.close()

    def close(self) -> None:
        for guest in self.guests:
            guest.close()
        self.lab.close()


def local_address(switch: Switch, address: str) -> None:
    """Make the machine itself a host of the bridge, as a hypervisor is."""
    Path(f"/proc/sys/net/ipv4/conf/{switch.name}/arp_ignore").write_text("0")
    sh("ip", "addr", "add", f"{address}/24", "dev", switch.name)
    sh("ip", "link", "set", switch.name, "up")
