"""Virtual machines on the bridges of a Lab: each on a tap that is a port."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.guest.image import Image
from tests.guest.qemu import Guest, Shell
from tests.mininet.lab import Lab, Switch, quiet, sh


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


class Site:
    """Guests of a lab; ends them, and what the lab has made."""

    def __init__(self, lab: Lab, image: Image) -> None:
        self.lab = lab
        self.image = image
        self.guests: list[Guest] = []

    def tap(self, switch: Switch) -> str:
        """A new tap that is a port of the switch."""
        name = f"{self.lab.tag}t{len(self.guests) + 1}"
        sh("ip", "tuntap", "add", name, "mode", "tap")
        self.lab.own(name)
        quiet(name)
        sh("ip", "link", "set", name, "up")
        switch.add_port(name)
        return name

    def guest(self, switch: Switch, number: int | None = None, *options: str) -> Placed:
        """Start one on a port of its own; it boots meanwhile."""
        tap = self.tap(switch)
        number = number or 100 + len(self.guests)
        mac = f"52:54:00:0a:00:{number:02x}"
        guest = Guest.on_tap(self.image, tap, mac, *options)
        self.guests.append(guest)
        return Placed(guest, mac, tap, number)

    def arriving(self, placed: Placed, tap: str, channel: Path) -> Placed:
        """The same guest as it will be when it has migrated to a tap of another bridge."""
        incoming = ("-incoming", f"unix:{channel}")
        guest = Guest.on_tap(self.image, tap, placed.mac, *incoming)
        self.guests.append(guest)
        return Placed(guest, placed.mac, tap, placed.number)

    def close(self) -> None:
        for guest in self.guests:
            guest.close()
        self.lab.close()


def local_address(switch: Switch, address: str) -> None:
    """Make the machine itself a host of the bridge, as a hypervisor is."""
    Path(f"/proc/sys/net/ipv4/conf/{switch.name}/arp_ignore").write_text("0")
    sh("ip", "addr", "add", f"{address}/24", "dev", switch.name)
    sh("ip", "link", "set", switch.name, "up")
