"""Programs that set addresses on a link, found by their files: a hint, no proof.

Nothing of theirs is changed: the program that manages the NIC must manage the bridge instead, in a
configuration that only the host's administrator knows.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ofapp.deploy.state import Address

ROOT = Path("/")
DHCP_CLIENTS = ("dhclient", "dhcpcd", "udhcpc")


def of(link: str, index: int, addresses: tuple[Address, ...], root: Path = ROOT) -> tuple[str, ...]:
    """The managers of a link that carries addresses."""
    if all(address.link_local for address in addresses) or link == "lo":
        return ()
    names = []
    if "managed=true" in _read(root / f"run/NetworkManager/devices/{index}"):
        names.append("NetworkManager")
    if "ADMIN_STATE=configured" in _read(root / f"run/systemd/netif/links/{index}"):
        names.append("systemd-networkd")
    if f"{link}=" in _read(root / "run/network/ifstate"):
        names.append("ifupdown (/etc/network/interfaces)")
    names += _dhcp_clients(link, root)
    if not names and any(address.family == 2 and address.valid for address in addresses):
        names.append("a DHCP client (the address has a lifetime)")
    return tuple(names)


def _dhcp_clients(link: str, root: Path) -> list[str]:
    """DHCP clients whose command line names the link, in this network namespace."""
    clients = []
    here = _namespace(root / "proc/self")
    for process in (root / "proc").glob("[0-9]*"):
        words = _read(process / "cmdline").split("\0")
        program = Path(words[0]).name if words else ""
        if program in DHCP_CLIENTS and link in words[1:] and _namespace(process) == here:
            clients.append(f"{program} (process {process.name})")
    return clients


def _namespace(process: Path) -> str:
    with suppress(OSError):
        return str((process / "ns/net").readlink())
    return ""


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""
